/**
 * The keys and values that the processes of the crash tests write and that the test looks for
 * afterwards.
 */

export const pairKey = (side: string, name: string, number: number): Buffer =>
  Buffer.from(`${side}:${name}:${String(number).padStart(9, '0')}`)

export const pairValue = (name: string, number: number): Buffer =>
  Buffer.from(`${name}/${number}/`.repeat(1 + (number % 40)))
