/**
 * What processes use, as Linux tells it. Memory is anonymous memory only: pages of data files that happen to be mapped
 * belong to the operating system, which takes them back when it likes.
 */
import { readdirSync, readFileSync } from 'node:fs'

/** Of the largest process of a tree. */
export const largestMemoryBytes = (root: number): number =>
  Math.max(...tree(root).map(anonymousBytes))

/** Of all processes of a tree. */
export const treeMemoryBytes = (root: number): number =>
  tree(root).reduce((sum, pid) => sum + anonymousBytes(pid), 0)

/** Processor time that a tree has used. */
export const treeCpuMs = (root: number): number =>
  tree(root).reduce((sum, pid) => sum + cpuMsOf(pid), 0)

/** A process and all below it. */
function tree(pid: number): number[] {
  const parents = new Map<number, number>()
  for (const name of readdirSync('/proc')) {
    const parent = /^\d+$/.test(name) ? parentOf(Number(name)) : undefined
    if (parent !== undefined) parents.set(Number(name), parent)
  }
  const found = [pid]
  for (const each of found) {
    for (const [child, parent] of parents) if (parent === each) found.push(child)
  }
  return found
}

const parentOf = (pid: number): number | undefined => statusField(pid, 'PPid')
const anonymousBytes = (pid: number): number => (statusField(pid, 'RssAnon') ?? 0) * 1024

/** With children that have ended since. The kernel counts in hundredths of a second. */
function cpuMsOf(pid: number): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /, '')
      .split(' ')
    return fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0) * 10
  } catch {
    // ended since it was listed
    return 0
  }
}

function statusField(pid: number, name: string): number | undefined {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    const value = new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1]
    return value === undefined ? undefined : Number(value)
  } catch {
    // ended since it was listed
    return undefined
  }
}
