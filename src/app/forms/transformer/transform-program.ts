/**
 * What runs inside the process that transforms forms, as functions whose text is put together to one module
 * (`program-text.ts`): libxslt as WebAssembly, our stylesheets around those of enketo-transformer, Markdown.
 *
 * Everything is synchronous. The library would fetch what documents name; here its only way out is a function that says
 * no, and its memory has a bound.
 */
import type { Frames } from '../../../core/sandbox/program/child-main.ts'

/** What is used of the library. */
export interface Libxslt {
  readonly HEAPU8: Uint8Array
  setValue(pointer: number, value: number, type: string): void
  stringToNewUTF8(text: string): number
  UTF8ToString(pointer: number, bytesMax: number): string
  _malloc(bytes: number): number
  _free(pointer: number): void
  _exsltRegisterAll(): void
  _xmlReadMemory(at: number, length: number, url: number, encoding: number, options: number): number
  _xmlFreeDoc(document: number): void
  _xsltParseStylesheetDoc(document: number): number
  _xsltApplyStylesheet(sheet: number, document: number, parameters: number): number
  _xsltSaveResultTo(buffer: number, result: number, sheet: number): number
  _xmlAllocOutputBuffer(encoder: number): number
  _xmlOutputBufferGetSize(buffer: number): number
  _xmlOutputBufferGetContent(buffer: number): number
  _xmlOutputBufferClose(buffer: number): number
}

export type SheetName = 'prepare' | 'form' | 'finish' | 'model' | 'describe' | 'annotations'

export interface Xslt {
  /** @param encoding where more is known about it than the document says; empty otherwise */
  parse(bytes: Uint8Array, encoding: string): number
  /** A document, to be freed. */
  apply(sheet: SheetName, document: number, parameters?: Readonly<Record<string, string>>): number
  print(sheet: SheetName, result: number): string
  free(document: number): void
}

/** Takes the two ways out of the WebAssembly environment before the library sees it. */
export function closeWebAssembly(
  wasm: Record<string, unknown>,
  pagesMax: number,
  library: () => Libxslt,
): void {
  const Memory = wasm.Memory as new (limits: object) => object
  wasm.Memory = class extends Memory {
    constructor(limits: { initial: number; maximum: number; shared: boolean }) {
      super({ ...limits, maximum: Math.min(limits.maximum, pagesMax) })
    }
  }
  // Calls that would wait for the network answer at once that there is nothing.
  const refuse = (_url: number, bytes: number, length: number, status: number): void => {
    for (const [place, value] of [
      [bytes, 0],
      [length, 0],
      [status, 403],
    ] as const) {
      library().setValue(place, value, 'i32')
    }
  }
  wasm.Suspending = function Suspending() {
    return refuse
  }
  wasm.promising = (original: unknown) => original
}

/** What the module exports beside what the library shows. */
export interface RawExports {
  malloc(bytes: number): number
  _emscripten_stack_restore(pointer: number): void
  emscripten_stack_set_limits(base: number, end: number): void
}

/** Sees the module's own exports when the library makes it. */
export function watchExports(
  wasm: Record<string, unknown>,
  see: (exports: RawExports) => void,
): void {
  const instantiate = wasm.instantiate as (...parts: unknown[]) => Promise<unknown>
  wasm.instantiate = async (...parts: unknown[]) => {
    const made = await instantiate(...parts)
    see((made as { instance: { exports: RawExports } }).instance.exports)
    return made
  }
}

/** The library comes with a small stack, and runs over its end without noticing; templates that call themselves need more. */
export function enlargeStack(raw: RawExports, bytes: number): void {
  const end = raw.malloc(bytes)
  if (end === 0) throw new Error('no memory for the stack')
  const base = (end + bytes) & ~15
  raw.emscripten_stack_set_limits(base, end)
  raw._emscripten_stack_restore(base)
}

export function makeXslt(
  library: Libxslt,
  sheets: Readonly<Record<SheetName, string>>,
  complaints: () => string,
): Xslt {
  // No network, no external entities, CDATA is text.
  const PARSE_OPTIONS = 2048 | 8_388_608 | 16_384
  const fail = (what: string): never => {
    throw new Error(complaints() || what)
  }
  const parse = (bytes: Uint8Array, encoding: string): number => {
    const place = library._malloc(bytes.length + 1)
    if (place === 0) fail('out of memory')
    library.HEAPU8.set(bytes, place)
    const named = encoding === '' ? 0 : library.stringToNewUTF8(encoding)
    const document = library._xmlReadMemory(place, bytes.length, 0, named, PARSE_OPTIONS)
    library._free(place)
    library._free(named)
    return document === 0 ? fail('The document is not well-formed.') : document
  }
  const withParameters = (
    parameters: Readonly<Record<string, string>>,
    use: (list: number) => number,
  ): number => {
    const texts = Object.entries(parameters).flatMap(([name, value]) => [name, `'${value}'`])
    const pointers = texts.map(text => library.stringToNewUTF8(text))
    const list = library._malloc(4 * (pointers.length + 1))
    if (list === 0) fail('out of memory')
    for (const [index, pointer] of [...pointers, 0].entries()) {
      library.setValue(list + 4 * index, pointer, 'i32')
    }
    const result = use(list)
    for (const pointer of [...pointers, list]) library._free(pointer)
    return result
  }
  const encoder = new TextEncoder()
  const compiled = {} as Record<SheetName, number>
  library._exsltRegisterAll()
  for (const [name, text] of Object.entries(sheets)) {
    const sheet = library._xsltParseStylesheetDoc(parse(encoder.encode(text), ''))
    if (sheet === 0) fail(`the stylesheet ${name} is wrong`)
    compiled[name as SheetName] = sheet
  }
  return {
    parse,
    apply: (sheet, document, parameters = {}) => {
      const result = withParameters(parameters, list =>
        library._xsltApplyStylesheet(compiled[sheet], document, list),
      )
      return result === 0 ? fail('There is no output.') : result
    },
    print: (sheet, result) => {
      const buffer = library._xmlAllocOutputBuffer(0)
      if (buffer === 0) fail('out of memory')
      const written = library._xsltSaveResultTo(buffer, result, compiled[sheet])
      const size = library._xmlOutputBufferGetSize(buffer)
      const text = library.UTF8ToString(library._xmlOutputBufferGetContent(buffer), size)
      library._xmlOutputBufferClose(buffer)
      return written < 0 ? fail('out of memory') : text
    },
    free: document => library._xmlFreeDoc(document),
  }
}

/**
 * Texts between marks from Markdown to HTML. Values inside them are set aside meanwhile; a link whose target has one
 * cannot be followed before the value is known, so it carries its target as a hidden text.
 */
export function renderTexts(
  html: string,
  mark: string,
  markdownToHTML: (text: string) => string,
): string {
  const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', nbsp: '\u00a0' }
  const render = (marked: string): string => {
    const values: string[] = []
    const text = marked
      .replace(new RegExp(`<\\?${mark}-value>([\\s\\S]*?)<\\?${mark}-over>`, 'g'), (_, value) => {
        values.push(value as string)
        return `\0${values.length - 1}\0`
      })
      .replace(/&(amp|lt|gt|quot|nbsp);/g, (_, name: string) => entities[name] as string)
    const restore = (part: string): string =>
      part.replace(/\0(\d+)\0/g, (_, index) => values[Number(index)] ?? '')
    const linked = markdownToHTML(text)
      .replaceAll('&lt;', '<')
      .replaceAll('&gt;', '>')
      .replace(/&(?!(?:#?\w+);)/g, '&amp;')
      .replaceAll('src="jr://', 'data-media-src="')
      .replace(
        /<a href="([^"]*%00\d+%00[^"]*)" rel="noopener" target="_blank">([\s\S]*?)<\/a>/g,
        (_, href: string, label: string) =>
          `<a href="#" class="dynamic-url" rel="noopener" target="_blank">${label}` +
          `<span class="url hidden">${href.replaceAll('%00', '\0')}</span></a>`,
      )
    return restore(linked)
  }
  return html.replace(
    new RegExp(`<\\?${mark}-text>([\\s\\S]*?)<\\?${mark}-end>`, 'g'),
    (_, marked) => render(marked as string),
  )
}

export interface TransformTools {
  readonly frames: Frames
  readonly xslt: Xslt
  /** What the library said since it was asked last. */
  readonly complaints: () => string
  readonly markdownToHTML: (text: string) => string
  readonly renderTexts: typeof renderTexts
  readonly newMark: () => string
  readonly memoryBytes: () => number
  /** A process that needed more than this is replaced: its memory never shrinks. */
  readonly memoryBytesKept: number
}

/** The answer to one request: page and model of a form, or what it says about itself. Throws what the library says. */
export function makeAnswer(
  tools: TransformTools,
): (op: string, bytes: Uint8Array, encoding: string) => object {
  const { xslt, complaints } = tools
  /** The result of a stylesheet as text. */
  const textOf = (
    sheet: SheetName,
    document: number,
    parameters?: Readonly<Record<string, string>>,
  ): string => {
    const result = xslt.apply(sheet, document, parameters)
    const text = xslt.print(sheet, result)
    xslt.free(result)
    return text
  }
  const within = <T>(document: number, use: (document: number) => T): T => {
    try {
      return use(document)
    } finally {
      xslt.free(document)
    }
  }
  const formOf = (document: number): string => {
    const mark = tools.newMark()
    const annotations = textOf('annotations', document).replaceAll("'", '%27')
    const html = within(xslt.apply('prepare', document), prepared =>
      within(xslt.apply('form', prepared), result =>
        textOf('finish', result, { mark, annotations }),
      ),
    )
    return tools.renderTexts(html, mark, tools.markdownToHTML).trim()
  }
  const modelOf = (document: number): string =>
    textOf('model', document)
      .replace(/^\s*<root[^>]*>/, '')
      .replace(/<\/root>\s*$/, '')
      .trim()
  const describe = (document: number): object => {
    const lines = textOf('describe', document).split('\n')
    const [id = '', version = '', title = ''] = lines.map(decodeURIComponent)
    return { id, title, ...(version === '' ? {} : { version: version.slice(1) }) }
  }
  /** Types that nobody knows are text: that is no complaint. */
  const seriousIn = (said: string): string =>
    said.replace(/^ERROR: Unsupported data type '[^']*' found\.$/gm, '').trim()
  return (op, bytes, encoding) => {
    const plain = new TextDecoder('latin1').decode(bytes).replaceAll('\0', '')
    if (/<!(?:DOCTYPE|ENTITY)/i.test(plain)) return { refused: 'doctype' }
    const result = within(xslt.parse(bytes, encoding), document =>
      op === 'describe' ? describe(document) : { form: formOf(document), model: modelOf(document) },
    )
    const said = seriousIn(complaints())
    if (said !== '') throw new Error(said)
    return result
  }
}

/** Reply kinds: 0 ready, 2 done, 3 failed. */
export function transformMain(
  { frames, complaints, memoryBytes, memoryBytesKept }: TransformTools,
  answer: ReturnType<typeof makeAnswer>,
): never {
  frames.send(0, '', '')
  for (;;) {
    const { header, body } = frames.receive()
    complaints()
    let reply = ''
    let kind = 2
    let isTrap = false
    try {
      const bytes = new Uint8Array(body.length)
      for (let at = 0; at < bytes.length; at++) bytes[at] = body.charCodeAt(at)
      reply = JSON.stringify(answer(header.op, bytes, header.name ?? ''))
    } catch (thrown) {
      kind = 3
      const error = thrown as Error
      // A trap leaves the library in no known state: the process ends after this answer.
      isTrap = !(error instanceof Error) || error.constructor !== Error
      reply = JSON.stringify({ message: `${error?.message ?? thrown}` })
    }
    const mustEnd = isTrap || memoryBytes() > memoryBytesKept
    frames.send(kind, mustEnd ? '{"retire":true}' : '', reply)
  }
}
