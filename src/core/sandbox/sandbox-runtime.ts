/**
 * Which program runs a sandbox process, with which flags, limits and identity.
 *
 * The default is Deno from npm without any permission. Where it has no build the same program runs
 * under Node's permission model, which does not close the network: `isClosed` says so and the pool warns.
 * Memory: a heap flag, and RLIMIT_DATA for what lies outside the heap (typed arrays). The runtime's own
 * share of that limit depends on the machine, so it is measured once on a process that runs nothing.
 * Linux only: macOS accepts the limit and ignores it, Windows has none; there the heap flag and the
 * clock remain. As root the processes run as nobody.
 */
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { programText } from './program/program-text.ts'

export type RuntimeName = 'deno' | 'node'

export interface SandboxRuntime {
  readonly name: RuntimeName
  /** Whether files, network and processes are all out of reach by the runtime itself. */
  readonly isClosed: boolean
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly folder: string
  /** Runs as this user and group; undefined: as the server does. */
  readonly userId: number | undefined
}

export interface RuntimeOptions {
  readonly runtime: RuntimeName
  readonly heapBytesMax: number
}

/** The Deno binary itself, past the shim of its npm package; undefined where there is no build. */
export function findDeno(): string | undefined {
  const { platform, arch } = process
  const family = platform === 'linux' ? '-glibc' : ''
  const file = platform === 'win32' ? 'deno.exe' : 'deno'
  try {
    const shim = createRequire(import.meta.url).resolve('deno/package.json')
    const found = createRequire(shim).resolve(`@deno/${platform}-${arch}${family}/package.json`)
    const path = join(dirname(found), file)
    return existsSync(path) ? path : undefined
  } catch {
    return undefined
  }
}

export interface ProgramOptions extends RuntimeOptions {
  /** Of the folder's name. */
  readonly prefix: string
  /** What the folder has, by name: a text, or a copy of another file. One of them is the program. */
  readonly files: Readonly<Record<string, { readonly text: string } | { readonly copyOf: string }>>
  readonly program: string
  /** The program may read its own folder. */
  readonly readsFolder?: boolean
}

/** Writes the program for functions into a folder of its own; undefined where Deno has no build. */
export const prepareRuntime = (options: RuntimeOptions): SandboxRuntime | undefined =>
  prepareProgram({
    ...options,
    prefix: 'gurney-sandbox-',
    files: { 'program.mjs': { text: programText({ heapBytesMax: options.heapBytesMax }) } },
    program: 'program.mjs',
  })

/** The same for any program that speaks in frames (`frame-reader.ts`). */
export function prepareProgram(options: ProgramOptions): SandboxRuntime | undefined {
  const deno = options.runtime === 'deno' ? findDeno() : undefined
  if (options.runtime === 'deno' && deno === undefined) return undefined
  const userId = process.getuid?.() === 0 ? NOBODY : undefined
  const folder = mkdtempSync(join(tmpdir(), options.prefix))
  const cache = join(folder, 'cache')
  mkdirSync(cache)
  for (const [name, content] of Object.entries(options.files)) {
    const bytes = 'text' in content ? content.text : readFileSync(content.copyOf)
    writeFileSync(join(folder, name), bytes, { mode: 0o444 })
  }
  // The folder stays ours and unwritable to the children; only the cache is theirs.
  chmodSync(folder, 0o755)
  if (userId !== undefined) chownSync(cache, userId >>> 0, userId >>> 0)
  const heapMegabytes = Math.max(16, Math.floor(options.heapBytesMax / MEGABYTE))
  const common = { folder, userId, env: environment(cache) }
  const program = join(folder, options.program)
  const reads = options.readsFolder === true ? folder : undefined
  return deno === undefined
    ? { ...common, ...nodeCommand(program, heapMegabytes, reads) }
    : { ...common, ...denoCommand(deno, program, heapMegabytes, reads) }
}

export function disposeRuntime(runtime: SandboxRuntime): void {
  rmSync(runtime.folder, { recursive: true, force: true })
}

/** What to spawn; a shell sets the limits and then becomes the runtime, so no process stays between. */
export function launchCommand(
  runtime: SandboxRuntime,
  dataBytesMax: number | undefined,
): { readonly file: string; readonly args: readonly string[] } {
  if (process.platform === 'win32') return { file: runtime.command, args: runtime.args }
  const limits = [`ulimit -c 0`, `ulimit -t ${CPU_SECONDS_MAX}`]
  if (dataBytesMax !== undefined) limits.push(`ulimit -d ${Math.ceil(dataBytesMax / 1024)}`)
  const script = `${limits.join(' && ')} && exec "$0" "$@"`
  return { file: '/bin/sh', args: ['-c', script, runtime.command, ...runtime.args] }
}

/** A process whose parent died in the middle of an endless call ends itself by this. */
export const CPU_SECONDS_MAX = 600

const MEGABYTE = 1_048_576

/** 65534 on Linux; macOS calls the same account -2. */
const NOBODY = process.platform === 'darwin' ? -2 : 65_534

function denoCommand(
  command: string,
  program: string,
  heapMegabytes: number,
  reads: string | undefined,
): Pick<SandboxRuntime, 'name' | 'isClosed' | 'command' | 'args'> {
  const rights = reads === undefined ? [] : [`--allow-read=${reads}`]
  const closed = ['--no-prompt', '--no-remote', '--no-npm', '--no-config', '--no-lock']
  // Batches are parsed, mapped and dropped: a larger nursery frees them without copying.
  const heap = `--v8-flags=--max-old-space-size=${heapMegabytes},--min-semi-space-size=16`
  const args = ['run', '--quiet', ...closed, ...rights, '--no-code-cache', heap, program]
  return { name: 'deno', isClosed: true, command, args }
}

function nodeCommand(
  program: string,
  heapMegabytes: number,
  reads: string | undefined,
): Pick<SandboxRuntime, 'name' | 'isClosed' | 'command' | 'args'> {
  const isNew = process.allowedNodeEnvironmentFlags.has('--permission')
  const args = [
    isNew ? '--permission' : '--experimental-permission',
    `--allow-fs-read=${reads === undefined ? program : `${reads}/*`}`,
    '--no-warnings',
    '--no-addons',
    `--max-old-space-size=${heapMegabytes}`,
    program,
  ]
  return { name: 'node', isClosed: false, command: process.execPath, args }
}

const environment = (cache: string): Record<string, string> => ({
  DENO_DIR: cache,
  DENO_NO_UPDATE_CHECK: '1',
  HOME: cache,
  TMPDIR: cache,
  NO_COLOR: '1',
})
