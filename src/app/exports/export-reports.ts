/**
 * Reports as CSV: who reported what, when and from where, and the fields of all forms concerned. Which fields there are
 * is learnt from one report of each form; values of others that it lacks have no column.
 */
import type { ApplicationContext } from '../application-context.ts'
import { type Document, isObject, type JsonObject } from '../documents/document.ts'
import { ContactCards, senderChain } from './contact-cards.ts'
import { type Cell, csvHeading, csvLines } from './csv.ts'
import { dateCell } from './date-cell.ts'
import type { ExportOptions, ExportRequest } from './export-request.ts'
import { findReports } from './find-reports.ts'
import { parseReportFilters, type ReportFilters } from './report-filters.ts'

const COLUMNS = ['_id', 'form', 'patient_id', 'reported_date', 'from']
const NAME_COLUMNS = [
  'contact.name',
  'contact.parent.name',
  'contact.parent.parent.name',
  'contact.parent.parent.parent.name',
]

/** Fails at once for filters that make no sense; the texts are pieces of the file. */
export function exportReports(
  context: ApplicationContext,
  { filters, options }: ExportRequest,
  signal?: AbortSignal,
): AsyncGenerator<string, void, undefined> {
  return reportLines(context, parseReportFilters(filters, context.clock()), options, signal)
}

async function* reportLines(
  context: ApplicationContext,
  filters: ReportFilters,
  options: ExportOptions,
  signal: AbortSignal | undefined,
): AsyncGenerator<string, void, undefined> {
  const fields = await fieldColumns(context, filters, signal)
  yield csvHeading([...COLUMNS, ...NAME_COLUMNS, ...fields])
  const paths = fields.map(field => field.split('.'))
  const cards = new ContactCards(context.data)
  for await (const reports of findReports(context, filters, { ...options, signal })) {
    const chains = reports.map(senderChain)
    await cards.load(chains.flatMap(chain => chain.slice(0, NAME_COLUMNS.length)))
    const rows = reports.map((report, index) => [
      ...reportCells(report, options),
      ...nameCells(report, chains[index] ?? [], cards),
      ...fieldCells(report, paths),
    ])
    yield csvLines(rows)
  }
}

function reportCells(report: Document, options: ExportOptions): Cell[] {
  const fields = isObject(report.fields) ? report.fields : {}
  return [
    report._id,
    report.form as Cell,
    (report.patient_id ?? fields.patient_id) as Cell,
    dateCell(report.reported_date, options),
    report.from as Cell,
  ]
}

/** Of who sent it and those above; a name that the report itself has counts where the contact is gone. */
function nameCells(report: Document, chain: readonly string[], cards: ContactCards): Cell[] {
  let stored: unknown = report.contact
  return NAME_COLUMNS.map((_, level) => {
    const own = isObject(stored) ? stored.name : undefined
    stored = isObject(stored) ? stored.parent : undefined
    return (cards.of(chain[level]).name ?? own) as Cell
  })
}

function fieldCells({ fields }: Document, paths: readonly (readonly string[])[]): Cell[] {
  return paths.map(path => {
    let value: unknown = fields
    for (const name of path) {
      value = isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
    }
    return value as Cell
  })
}

/** In the order of the alphabet. */
async function fieldColumns(
  context: ApplicationContext,
  { forms }: ReportFilters,
  signal: AbortSignal | undefined,
): Promise<string[]> {
  const { data } = context
  const names = new Set<string>()
  for (const form of forms ?? (await allForms(context, signal))) {
    const query = { startKey: [form], endKey: [form], reduce: false, limit: 1 }
    const [row] = await data.allRows(`${data.name}-client`, 'reports_by_form', query)
    const sample = row === undefined ? undefined : await data.get(row.id)
    if (isObject(sample?.fields)) addNames(sample.fields, '', names)
  }
  return [...names].sort()
}

async function allForms(
  { data }: ApplicationContext,
  signal: AbortSignal | undefined,
): Promise<string[]> {
  const forms: string[] = []
  const query = { reduce: true, group: true }
  for await (const rows of data.rows(`${data.name}-client`, 'reports_by_form', query, signal)) {
    for (const { key } of rows) forms.push(String((key as readonly unknown[])[0]))
  }
  return forms
}

const DEPTH_MAX = 20

/** Objects are gone into, lists are values. */
function addNames(fields: JsonObject, prefix: string, names: Set<string>, depth = 0): void {
  for (const [name, value] of Object.entries(fields)) {
    const path = `${prefix}${name}`
    if (isObject(value) && depth < DEPTH_MAX) addNames(value, `${path}.`, names, depth + 1)
    else names.add(path)
  }
}
