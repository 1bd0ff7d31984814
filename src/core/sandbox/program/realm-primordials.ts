/**
 * Part of the program inside a sandbox process: what the harness needs of JavaScript itself, taken
 * before any user function runs, so that a design document that replaces `JSON.stringify` or
 * `Array.prototype.push` changes its own calls only.
 *
 * Every function in this folder is shipped as text (`program-text.ts`): it may use its arguments, the
 * language and the other functions of the folder, but no import, constant or type of run time.
 */
export interface Primordials {
  readonly parse: (text: string) => unknown
  /** JSON text of a value; what JSON cannot say (undefined, functions) becomes null. */
  readonly text: (value: unknown) => string
  readonly keys: (value: object) => string[]
  readonly hasOwn: (value: object, name: string) => boolean
  readonly freeze: <T>(value: T) => T
  readonly isArray: (value: unknown) => value is unknown[]
  readonly apply: (target: unknown, self: unknown, args: unknown[]) => unknown
  readonly evaluate: (source: string) => unknown
  readonly string: (value: unknown) => string
  readonly isError: (value: unknown) => value is Error
  readonly split: (text: string, by: string) => string[]
  readonly slice: (text: string, from: number, to?: number) => string
  readonly indexOf: (text: string, part: string) => number
  readonly lower: (text: string) => string
  readonly trim: (text: string) => string
  readonly number: (text: string) => number
  /** An object that inherits nothing: safe as a dictionary. */
  readonly dictionary: <T>() => Record<string, T>
  /** A list that inherits nothing: growing it never meets a setter planted by a user. */
  readonly list: <T>() => T[]
}

export function capturePrimordials(): Primordials {
  const { parse, stringify } = JSON
  const { keys, freeze, create, setPrototypeOf, hasOwn } = Object
  const { isArray } = Array
  const { apply } = Reflect
  const { split, slice, indexOf, toLowerCase, trim } = String.prototype
  const RealmError = Error
  const string = String
  const number = Number
  // Called through this alias eval is global code: it sees no variable of the harness.
  // biome-ignore lint/security/noGlobalEval: running strangers' source is what this process is for
  const evaluate = globalThis.eval
  return freeze({
    parse: (text: string) => parse(text),
    text: (value: unknown) => {
      // What a number looks like no user function can change, and most values are numbers.
      if (typeof value === 'number') return value - value === 0 ? `${value}` : 'null'
      const text = stringify(value)
      return text === undefined ? 'null' : text
    },
    keys: (value: object) => keys(value),
    hasOwn: (value: object, name: string) => hasOwn(value, name),
    freeze: <T>(value: T): T => freeze(value) as T,
    isArray: (value: unknown): value is unknown[] => isArray(value),
    apply: (target: unknown, self: unknown, args: unknown[]): unknown =>
      apply(target as () => unknown, self, args),
    evaluate: (source: string) => evaluate(source),
    string: (value: unknown) => string(value),
    isError: (value: unknown): value is Error => value instanceof RealmError,
    split: (text: string, by: string) => apply(split, text, [by]) as string[],
    slice: (text: string, from: number, to?: number) => apply(slice, text, [from, to]) as string,
    indexOf: (text: string, part: string) => apply(indexOf, text, [part]) as number,
    lower: (text: string) => apply(toLowerCase, text, []) as string,
    trim: (text: string) => apply(trim, text, []) as string,
    number: (text: string) => number(text),
    dictionary: <T>() => create(null) as Record<string, T>,
    list: <T>() => setPrototypeOf([], null) as T[],
  })
}

/** Leaves the language in the realm and nothing else; runs before the helpers are defined. */
export function closeRealm(): void {
  const global = globalThis as unknown as Record<string, unknown>
  const unwanted = ['console', 'WebAssembly', 'SharedArrayBuffer', 'Atomics', 'queueMicrotask']
  for (const name of unwanted) delete global[name]
  // A polluted Object.prototype would show in every document; its members stay replaceable, because
  // freezing them makes `this.toString = ...` in ordinary libraries fail.
  Object.preventExtensions(Object.prototype)
  Object.defineProperty(Error.prototype, 'toJSON', {
    value: function toJSON(this: Error) {
      return { error: this.name, message: this.message }
    },
    configurable: true,
    writable: true,
  })
}

/** Documents are frozen all the way down, so one function's changes are never seen by the next. */
export function makeDeepFreeze(p: Primordials): (value: unknown) => void {
  const { freeze, isArray } = p
  const deepFreeze = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    if (isArray(value)) {
      for (let i = 0; i < value.length; i++) {
        const member = value[i]
        if (typeof member === 'object' && member !== null) deepFreeze(member)
      }
    } else {
      const members = value as Record<string, unknown>
      for (const name in members) {
        const member = members[name]
        if (typeof member === 'object' && member !== null) deepFreeze(member)
      }
    }
    freeze(value)
  }
  return deepFreeze
}
