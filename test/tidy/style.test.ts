/** Sizes, names and left-overs. The limits are ratchets: what is over them now is listed and may only shrink. */
import assert from 'node:assert/strict'
import { basename } from 'node:path'
import { describe, it } from 'node:test'
import { sourceFiles } from './source-tree.ts'

const FILE_LINES_MAX = 500
const FUNCTION_LINES_MAX = 70
const LINE_LENGTH_MAX = 125
const FORBIDDEN_NAMES = /^(utils?|helpers?|common|misc|manager|types|index|impl)\.ts$/

const LEFT_OVERS = /\b(TODO|FIXME|XXX|HACK)\b|^export default|: any\b|\bconsole\.log\(/

const files = sourceFiles()

describe('source files', () => {
  it(`have at most ${FILE_LINES_MAX} lines`, () => {
    const long = files.filter(file => file.lines.length > FILE_LINES_MAX)
    assert.deepEqual(
      long.map(file => `${file.path}: ${file.lines.length}`),
      [],
    )
  })

  it('have names that say what is in them', () => {
    const bad = files.filter(({ path }) => {
      const name = basename(path)
      return FORBIDDEN_NAMES.test(name) || !/^[a-z0-9]+(-[a-z0-9]+)*\.ts$/.test(name)
    })
    assert.deepEqual(
      bad.map(file => file.path),
      [],
    )
  })

  it('open with a comment that says what they are for', () => {
    const silent = files.filter(({ text }) => !/^(#![^\n]*\n)?\/\*\*/.test(text))
    assert.deepEqual(
      silent.map(file => file.path),
      [],
    )
  })

  it('have functions of at most 70 lines', () => {
    assert.deepEqual(
      files.flatMap(file => longFunctions(file.path, file.lines)),
      [],
    )
  })

  it('have no left-overs and no default exports', () => {
    const found = files.flatMap(({ path, lines }) =>
      lines.flatMap((line, index) =>
        LEFT_OVERS.test(line.replace(/^\s*(\/?\*|\/\/).*/, ''))
          ? [`${path}:${index + 1}: ${line.trim()}`]
          : [],
      ),
    )
    assert.deepEqual(found, [])
  })

  it(`have lines of at most ${LINE_LENGTH_MAX} characters, tables of contents aside`, () => {
    const found = files.flatMap(({ path, lines }) =>
      lines.flatMap((line, index) => {
        const isTable = path.endsWith('/routes.ts') || /^\s*['"`/]|https?:|reason|about/.test(line)
        return line.length > LINE_LENGTH_MAX && !isTable ? [`${path}:${index + 1}`] : []
      }),
    )
    assert.deepEqual(found, [])
  })
})

/** By indentation: a line that opens a function or method, and the line that closes it at the same depth. */
function longFunctions(path: string, lines: readonly string[]): string[] {
  const OPENS =
    /^(\s*)(?:export )?(?:async )?(?:function\b|(?:static |override |private |get |set |async |\*)*[#\w]+\([^)]*$|(?:static |override |get |set |async |\*)*[#\w]+\(.*\).*\{$)/
  const found: string[] = []
  lines.forEach((line, start) => {
    const depth = OPENS.exec(line)?.[1]
    if (depth === undefined || /^\s*(if|for|while|switch|return|describe|it|class)\b/.test(line))
      return
    const end = lines.findIndex((other, index) => index > start && other.startsWith(`${depth}}`))
    if (end - start > FUNCTION_LINES_MAX) found.push(`${path}:${start + 1}: ${end - start} lines`)
  })
  return found
}
