/**
 * Rows as CSV, a batch at a time. Texts are in double quotes, quotes and backslashes in them behind a backslash; numbers
 * and truth values are bare; what is not there is empty. Every line ends with a line feed.
 *
 * Spreadsheets take texts that begin with certain characters for formulas. Those get an apostrophe in front, which
 * spreadsheets do not show; plain numbers and phone numbers are no danger and stay as they are.
 */
import { stringify } from 'csv-stringify/sync'

export type Cell = string | number | boolean | object | null | undefined

/** A cell that is written as it is, quotes and all. */
export class Verbatim {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

const FORMULA = /^[=+\-@\t\r\uff0b\uff0d\uff1d\uff20]/
const NUMBER = /^[+-]?[\d\s().-]*$/

const OPTIONS = {
  quoted_string: true,
  escape: '\\',
  record_delimiter: '\n',
  cast: {
    string: (text: string) => harmless(text),
    boolean: (value: boolean) => String(value),
    object: (value: object) =>
      value instanceof Verbatim
        ? { value: value.text, quote: '', escape: '', quoted_string: false }
        : { value: harmless(JSON.stringify(value)), quoted: true },
  },
} as const

/** @param delimiter between cells; a comma unless people of the language are used to another */
export function csvLines(rows: readonly (readonly Cell[])[], delimiter = ','): string {
  return rows.length === 0 ? '' : stringify(rows as Cell[][], { ...OPTIONS, delimiter })
}

/** Headings are bare, but for those that would not stay one cell. */
export function csvHeading(columns: readonly string[], delimiter = ','): string {
  const options = { ...OPTIONS, quoted_string: false, delimiter }
  return stringify([[...columns]], options)
}

function harmless(text: string): string {
  return FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text
}
