/**
 * Serves the files of one folder, for the administration page.
 *
 * Promises: nothing outside the folder is ever read, whatever the segments or symbolic links say; hidden
 * files are not there; ETag and 304; files are streamed. What is not there is Failure('route_missing').
 * Leaves to others: headers beyond type and ETag (given by the caller), who may read.
 */
import { open, realpath, stat } from 'node:fs/promises'
import { extname, join, sep } from 'node:path'
import { Failure } from '../../base/errors.ts'
import { matchesEtag, notModified, quoteEtag } from './conditional.ts'
import { emptyReply, type Reply, streamReply } from './reply.ts'

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.eot': 'application/vnd.ms-fontobject',
  '.gif': 'image/gif',
  '.html': 'text/html; charset=utf-8',
  '.ico': 'image/x-icon',
  '.jpg': 'image/jpeg',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.map': 'application/json',
  '.md': 'text/markdown; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.ttf': 'font/ttf',
  '.txt': 'text/plain; charset=utf-8',
  '.wasm': 'application/wasm',
  '.webp': 'image/webp',
  '.woff': 'font/woff',
  '.woff2': 'font/woff2',
  '.xml': 'application/xml',
}

const READ_BYTES = 65_536

export interface StaticOptions {
  /** Sent with every file, flat list. */
  readonly headers?: readonly string[]
  /** Read for paths that name a folder. */
  readonly indexFile?: string
}

export class StaticFiles {
  readonly #folder: string
  readonly #headers: readonly string[]
  readonly #indexFile: string

  constructor(folder: string, options: StaticOptions = {}) {
    this.#folder = folder
    this.#headers = options.headers ?? []
    this.#indexFile = options.indexFile ?? 'index.html'
  }

  /** @param segments decoded, below the folder; none for the folder itself */
  async serve(
    segments: readonly string[],
    request: { header(name: string): string | undefined },
  ): Promise<Reply> {
    if (!segments.every(isPlainName)) throw missing(segments)
    const names = segments.length === 0 ? [this.#indexFile] : segments
    const path = await this.#resolve(names)
    const about = await stat(path).catch(asMissing(segments))
    if (!about.isFile()) throw missing(segments)
    const { size, mtimeMs } = about
    const etag = quoteEtag(`${size.toString(36)}-${Math.floor(mtimeMs).toString(36)}`)
    if (matchesEtag(request.header('if-none-match'), etag)) return notModified(etag)
    const type = CONTENT_TYPES[extname(path).toLowerCase()] ?? 'application/octet-stream'
    const headers = ['Content-Type', type, 'ETag', etag, ...this.#headers]
    if (size === 0) return emptyReply(200, headers)
    return streamReply(200, headers, readFile(path, size), size)
  }

  /** The real path, which must lie in the real folder: links may point anywhere. */
  async #resolve(names: readonly string[]): Promise<string> {
    const asked = await realpath(join(this.#folder, ...names)).catch(asMissing(names))
    const folder = await realpath(this.#folder).catch(asMissing(names))
    if (!asked.startsWith(folder + sep)) throw missing(names)
    return asked
  }
}

/** The file is opened when the body is first pulled: a HEAD request never does. */
async function* readFile(path: string, size: number): AsyncGenerator<Buffer, void, undefined> {
  const file = await open(path)
  try {
    for (let at = 0; at < size; ) {
      const buffer = Buffer.allocUnsafe(Math.min(READ_BYTES, size - at))
      const { bytesRead } = await file.read(buffer, 0, buffer.length, at)
      if (bytesRead === 0) return // cut short meanwhile: the promised length will cut the answer too
      at += bytesRead
      yield buffer.subarray(0, bytesRead)
    }
  } finally {
    await file.close()
  }
}

const isPlainName = (name: string): boolean => !name.startsWith('.') && !/[/\\\0]/.test(name)

const missing = (names: readonly string[]): Failure =>
  new Failure('route_missing', { reason: 'missing', subject: names.join('/') })

/** What is not there, or is not ours to read, is missing; a broken disk is not. */
const asMissing =
  (names: readonly string[]) =>
  (error: NodeJS.ErrnoException): never => {
    if (['ENOENT', 'ENOTDIR', 'EACCES', 'ELOOP', 'ENAMETOOLONG'].includes(error.code ?? '')) {
      throw missing(names)
    }
    throw error
  }
