/**
 * Part of the program inside a sandbox process: the outer realm. It reads requests from its input,
 * keeps one realm per environment, and writes replies.
 *
 * All of it is synchronous and never returns to the event loop: promises, timers and finalizers that a
 * user function leaves behind can therefore never run. While a long batch goes on it sends beats, so
 * that the parent's clock measures one call and not the batch.
 */
import type { Exchange } from './realm-list.ts'
import type { Realm } from './realm-main.ts'

export interface ChildIo {
  /** Fills the start of the bytes, answers how many, 0 at the end of the input. */
  readonly read: (bytes: Uint8Array) => number
  readonly write: (bytes: Uint8Array) => number
  readonly exit: () => never
  readonly heapUsed: () => number
  readonly now: () => number
}

export interface RequestHeader {
  readonly op: string
  readonly env: number
  readonly kind?: string
  readonly name?: string
  readonly count?: number
  readonly beatMs?: number
  readonly drop?: readonly number[]
}

export interface Frames {
  readonly receive: () => { header: RequestHeader; body: string }
  /** A reply: kind, header text ('' for none), body text. */
  readonly send: (kind: number, header: string, body: string) => void
}

/** Request: u32 bytes that follow, u32 bytes of the header, header JSON, body. Little endian. */
export function makeFrames(io: ChildIo): Frames {
  const decoder = new TextDecoder()
  const encoder = new TextEncoder()
  const scratch = new Uint8Array(65_536)
  const prefix = new Uint8Array(9)
  const prefixView = new DataView(prefix.buffer)
  let input = new Uint8Array(65_536)
  const fill = (bytes: Uint8Array): void => {
    let filled = 0
    while (filled < bytes.length) {
      const count = io.read(bytes.subarray(filled))
      if (count === 0) io.exit()
      filled += count
    }
  }
  const drain = (bytes: Uint8Array): void => {
    let written = 0
    while (written < bytes.length) written += io.write(bytes.subarray(written))
  }
  const sendLarge = (kind: number, header: Uint8Array, body: Uint8Array): void => {
    prefixView.setUint32(0, 5 + header.length + body.length, true)
    prefixView.setUint8(4, kind)
    prefixView.setUint32(5, header.length, true)
    drain(prefix)
    drain(header)
    drain(body)
  }
  return {
    receive: () => {
      const sizes = prefix.subarray(0, 8)
      fill(sizes)
      const length = prefixView.getUint32(0, true) - 4
      const headerLength = prefixView.getUint32(4, true)
      // A large buffer is given back after the request that needed it.
      if (input.length < length || input.length > 4_194_304) {
        input = new Uint8Array(Math.max(length, 65_536))
      }
      fill(input.subarray(0, length))
      const header = decoder.decode(input.subarray(0, headerLength))
      const body = decoder.decode(input.subarray(headerLength, length))
      return { header: JSON.parse(header) as RequestHeader, body }
    },
    send: (kind, header, body) => {
      if ((header.length + body.length) * 3 > scratch.length - 9) {
        sendLarge(kind, encoder.encode(header), encoder.encode(body))
        return
      }
      const headerLength = encoder.encodeInto(header, scratch.subarray(9)).written
      const at = 9 + headerLength
      const length = at + encoder.encodeInto(body, scratch.subarray(at)).written
      const view = new DataView(scratch.buffer)
      view.setUint32(0, length - 4, true)
      view.setUint8(4, kind)
      view.setUint32(5, headerLength, true)
      drain(scratch.subarray(0, length))
    },
  }
}

/** Reply kinds: 0 ready, 1 beat, 2 done, 3 failed, 4 list start, 5 list chunks. */
export function childMain(
  io: ChildIo,
  makeRealm: (exchange: Exchange) => Realm,
  heapBytesMax: number,
): never {
  const frames = makeFrames(io)
  const realms = new Map<number, Realm>()
  let served = 0
  const exchange: Exchange = (kind, text) => {
    frames.send(kind === 'start' ? 4 : 5, '', text)
    const { header, body } = frames.receive()
    return (header.op === 'last-rows' ? '1' : '0') + body
  }
  const finish = (kind: number, realm: Realm | undefined, body: string): void => {
    served++
    // Promises never run here, so what they hold is never freed: ask for a new process in time.
    const isLarge = served % 32 === 0 && io.heapUsed() > heapBytesMax * 0.6
    const log = realm === undefined ? '' : realm.takeLog()
    const members = `${isLarge ? '"retire":true' : ''}${isLarge && log !== '' ? ',' : ''}`
    const header = log === '' ? members : `${members}"log":${log}`
    frames.send(kind, header === '' ? '' : `{${header}}`, body)
  }
  const open = (header: RequestHeader, body: string): void => {
    for (const id of header.drop ?? []) realms.delete(id)
    const realm = makeRealm(exchange)
    const problem = realm.open(header.kind ?? '', body)
    if (problem === '') realms.set(header.env, realm)
    finish(problem === '' ? 2 : 3, realm, problem)
  }
  /** All items of a request; a text that begins with `!` is an error. */
  const runItems = (realm: Realm, header: RequestHeader, body: string): string => {
    const problem = realm.begin(header.op, header.name ?? '', body)
    if (problem !== '') return `!${problem}`
    const count = header.count ?? 1
    const beatMs = header.beatMs ?? 1000
    let beatAt = io.now() + beatMs
    let out = ''
    for (let index = 0; index < count; index++) {
      const piece = realm.step(index)
      if (piece[0] === '!') return piece
      out += piece
      if (io.now() < beatAt) continue
      frames.send(1, '', `${index + 1}`)
      beatAt = io.now() + beatMs
    }
    return out
  }
  const run = (header: RequestHeader, body: string): void => {
    const realm = header.op === 'compile' ? makeRealm(exchange) : realms.get(header.env)
    if (realm === undefined) io.exit()
    if (header.op === 'compile') realm.open('check', '{}')
    const out = runItems(realm, header, body)
    if (out[0] === '!') finish(3, realm, out.slice(1))
    else finish(2, realm, out)
  }
  frames.send(0, '', '')
  for (;;) {
    const { header, body } = frames.receive()
    if (header.op === 'open') open(header, body)
    else run(header, body)
  }
}

/** Takes everything but the language off the outer global, in case somebody gets there. */
export function closeOuterRealm(names: readonly PropertyKey[]): void {
  const kept = new Set(names)
  const needed = ['TextDecoder', 'TextEncoder']
  for (const name of Reflect.ownKeys(globalThis)) {
    if (!kept.has(name) && !needed.includes(String(name))) {
      Reflect.deleteProperty(globalThis, name)
    }
  }
}
