/** Rows as a workbook in the XML that spreadsheets read: one sheet, and every cell a text, so nothing is a formula. */
const NAMESPACE = 'urn:schemas-microsoft-com:office:spreadsheet'

export const workbookStart = (sheet: string): string =>
  '<?xml version="1.0" encoding="UTF-8"?>\n' +
  '<?mso-application progid="Excel.Sheet"?>\n' +
  `<Workbook xmlns="${NAMESPACE}" xmlns:o="urn:schemas-microsoft-com:office:office"` +
  ` xmlns:x="urn:schemas-microsoft-com:office:excel" xmlns:ss="${NAMESPACE}"` +
  ' xmlns:html="http://www.w3.org/TR/REC-html140">' +
  `<Worksheet ss:Name="${escaped(sheet)}"><Table>\n`

export const workbookEnd = (): string => '</Table></Worksheet></Workbook>\n'

export const workbookRows = (rows: readonly (readonly unknown[])[]): string =>
  rows.map(row => `<Row>${row.map(cell).join('')}</Row>\n`).join('')

function cell(value: unknown): string {
  const text = value === undefined || value === null ? '' : String(value)
  const data =
    text === '' ? '<Data ss:Type="String"/>' : `<Data ss:Type="String">${escaped(text)}</Data>`
  return `<Cell>${data}</Cell>`
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
}

/** Characters that XML cannot have at all are left out. */
const escaped = (text: string): string =>
  Buffer.from(text)
    .toString()
    .replace(/[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g, '')
    .replace(/[&<>"]/g, character => ENTITIES[character] as string)
