/**
 * The program of the process that transforms forms, as the text of one JavaScript module beside copies of the libraries:
 * put together from functions as they are loaded here, so that the same sources are checked, shipped and tested.
 */
import { makeFrames } from '../../../core/sandbox/program/child-main.ts'
import { ioText } from '../../../core/sandbox/program/program-text.ts'
import {
  closeWebAssembly,
  enlargeStack,
  makeAnswer,
  makeXslt,
  renderTexts,
  transformMain,
  watchExports,
} from './transform-program.ts'

/** Files beside the program. */
export const FILES = {
  program: 'program.mjs',
  library: 'libxslt.mjs',
  binary: 'libxslt.wasm',
  markdown: 'markdown.mjs',
  sheets: 'sheets.json',
} as const

export interface ProgramOptions {
  readonly memoryBytesMax: number
  readonly memoryBytesKept: number
}

const PAGE_BYTES = 65_536
const STACK_BYTES = 16 * 1_048_576

const PARTS = [
  makeFrames,
  closeWebAssembly,
  watchExports,
  enlargeStack,
  makeXslt,
  renderTexts,
  makeAnswer,
  transformMain,
]

export function programText({ memoryBytesMax, memoryBytesKept }: ProgramOptions): string {
  return `import { createRequire } from 'node:module'
import factory from './${FILES.library}'
import { markdownToHTML } from './${FILES.markdown}'
const __name = target => target
${PARTS.map(String).join('\n')}
const fs = createRequire(import.meta.url)('node:fs')
const io = ${ioText()}
let said = ''
// The library writes what it complains about where errors go.
fs.writeSync = (file, text) => {
  if (file === 2 && said.length < 20000) said += text
}
const complaints = () => {
  const text = said
  said = ''
  return text.trim()
}
let library
let raw
watchExports(WebAssembly, exports => {
  raw = exports
})
closeWebAssembly(WebAssembly, ${Math.floor(memoryBytesMax / PAGE_BYTES)}, () => library)
library = await factory()
enlargeStack(raw, ${STACK_BYTES})
const sheets = JSON.parse(fs.readFileSync(new URL('./${FILES.sheets}', import.meta.url), 'utf8'))
const xslt = makeXslt(library, sheets, complaints)
const tools = {
  frames: makeFrames(io),
  xslt,
  complaints,
  markdownToHTML,
  renderTexts,
  newMark: () => 'm' + crypto.randomUUID(),
  memoryBytes: () => library.HEAPU8.length,
  memoryBytesKept: ${memoryBytesKept},
}
transformMain(tools, makeAnswer(tools))
`
}
