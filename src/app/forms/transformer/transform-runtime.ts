/**
 * Where the process that transforms forms comes from: libxslt (libxslt-wasm), the stylesheets of enketo-transformer and
 * its Markdown, copied into a folder beside our program, which is all that the process may read.
 */
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import {
  prepareProgram,
  type RuntimeName,
  type SandboxRuntime,
} from '../../../core/sandbox/sandbox-runtime.ts'
import { FILES, programText } from './program-text.ts'
import { ANNOTATIONS, DESCRIBE, FINISH, PREPARE } from './stylesheets.ts'
import type { SheetName } from './transform-program.ts'

const MEGABYTE = 1_048_576

/** Of the library; documents that need more fail. */
const MEMORY_BYTES_MAX = 256 * MEGABYTE
/** What an idle process may keep. */
const MEMORY_BYTES_KEPT = 64 * MEGABYTE
const HEAP_BYTES_MAX = 256 * MEGABYTE

/** Undefined where Deno has no build. */
export function prepareTransformer(runtime: RuntimeName): SandboxRuntime | undefined {
  const require = createRequire(import.meta.url)
  const library = require.resolve('libxslt-wasm/output/libxslt.js')
  const enketo = dirname(require.resolve('enketo-transformer'))
  const sheetOf = (name: string): string => {
    const { default: text } = require(join(enketo, 'xsl', `${name}.xsl.cjs`)) as { default: string }
    return text
  }
  const sheets: Record<SheetName, string> = {
    prepare: PREPARE,
    form: sheetOf('openrosa2html5form'),
    finish: FINISH,
    model: sheetOf('openrosa2xmlmodel'),
    describe: DESCRIBE,
    annotations: ANNOTATIONS,
  }
  const limits = { memoryBytesMax: MEMORY_BYTES_MAX, memoryBytesKept: MEMORY_BYTES_KEPT }
  return prepareProgram({
    runtime,
    heapBytesMax: HEAP_BYTES_MAX,
    prefix: 'gurney-forms-',
    files: {
      [FILES.program]: { text: programText(limits) },
      [FILES.library]: { copyOf: library },
      [FILES.binary]: { copyOf: join(dirname(library), FILES.binary) },
      [FILES.markdown]: { copyOf: join(enketo, 'markdown.js') },
      [FILES.sheets]: { text: JSON.stringify(sheets) },
    },
    program: FILES.program,
    readsFolder: true,
  })
}
