/**
 * The program that runs inside a sandbox process, as the text of one JavaScript module.
 *
 * It is put together from the text of this folder's functions as they are loaded here, so the same
 * sources are checked by the compiler, shipped by the build and run by the tests, and neither Deno nor
 * Node has to find or translate a file of ours. The inner realm is a script inside the module, because
 * each environment evaluates it in a global object of its own.
 */
import { childMain, closeOuterRealm, makeFrames } from './child-main.ts'
import { makeCompile, makeRequire } from './realm-compile.ts'
import {
  makeFilterStep,
  makeFind,
  makeRewriteStep,
  makeShowStep,
  makeUpdateStep,
  makeValidateStep,
  makeViewFilterStep,
  wrapResponse,
} from './realm-design.ts'
import { makeBrief, makeDescribe } from './realm-errors.ts'
import { makeListHelpers, makeListStep } from './realm-list.ts'
import { chooseStep, openSources, realmMain } from './realm-main.ts'
import { acceptance, headerOf, knownTypes, makeMime } from './realm-mime.ts'
import { defineGlobals, makeOutput, makeSum } from './realm-output.ts'
import { capturePrimordials, closeRealm, makeDeepFreeze } from './realm-primordials.ts'
import { fatalText, makeMapStep, makeReduceStep } from './realm-views.ts'

export interface ProgramOptions {
  readonly heapBytesMax: number
}

export function programText(options: ProgramOptions): string {
  return `import vm from 'node:vm'
${PREAMBLE}
${OUTER_PARTS.map(String).join('\n')}
const realmText = ${JSON.stringify(realmText())}
const script = new vm.Script(realmText, { filename: 'realm' })
const plain = vm.constants?.DONT_CONTEXTIFY
const newContext = () => vm.createContext(plain === undefined ? Object.create(null) : plain)
const makeRealm = exchange => script.runInContext(newContext())(exchange)
const io = ${ioText()}
closeOuterRealm(vm.runInContext('Reflect.ownKeys(globalThis)', newContext()))
childMain(io, makeRealm, ${options.heapBytesMax})
`
}

/** The translator of the tests wraps nested functions in this to keep their names. */
const PREAMBLE = 'const __name = target => target'

const OUTER_PARTS = [makeFrames, childMain, closeOuterRealm]

const REALM_PARTS = [
  capturePrimordials,
  closeRealm,
  makeDeepFreeze,
  makeDescribe,
  makeBrief,
  makeCompile,
  makeRequire,
  makeOutput,
  makeSum,
  defineGlobals,
  fatalText,
  makeMapStep,
  makeReduceStep,
  knownTypes,
  acceptance,
  headerOf,
  makeMime,
  makeFind,
  makeValidateStep,
  makeFilterStep,
  makeViewFilterStep,
  wrapResponse,
  makeShowStep,
  makeUpdateStep,
  makeRewriteStep,
  makeListHelpers,
  makeListStep,
  openSources,
  chooseStep,
  realmMain,
]

export function realmText(): string {
  return `'use strict';(() => {
${PREAMBLE}
${REALM_PARTS.map(String).join('\n')}
return realmMain
})()`
}

/** Deno where it runs Deno, else the same four verbs of Node. */
export function ioText(): string {
  return `typeof Deno === 'object'
  ? (({ stdin, stdout, exit, memoryUsage }) => ({
      read: bytes => stdin.readSync(bytes) ?? 0,
      write: bytes => stdout.writeSync(bytes),
      exit: () => exit(0),
      heapUsed: () => memoryUsage().heapUsed,
      now: Date.now,
    }))(Deno)
  : ((fs, process) => ({
      read: bytes => fs.readSync(0, bytes, 0, bytes.length, null),
      write: bytes => fs.writeSync(1, bytes, 0, bytes.length),
      exit: () => process.reallyExit(0),
      heapUsed: () => process.memoryUsage().heapUsed,
      now: Date.now,
    }))(await import('node:fs'), process)`
}
