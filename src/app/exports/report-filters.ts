/** Filters of reports: read from a request, and asked of one report. Several filters must all be met. */
import type { FreetextTerm } from '../contacts/freetext.ts'
import { type Document, isObject, isText, type JsonObject } from '../documents/document.ts'
import { isReport } from '../reports/read-report.ts'
import { idsUpFrom } from './contact-cards.ts'
import { type DateRange, dateRangeIn, isGiven, listIn, selectedIn } from './export-request.ts'
import { parseSearch, reportHasWords } from './search-words.ts'

export interface ReportFilters {
  readonly forms?: ReadonlySet<string> | undefined
  readonly date?: DateRange | undefined
  /** True, false, or null for those that nobody has looked at. */
  readonly verified?: ReadonlySet<unknown> | undefined
  readonly isValid?: boolean | undefined
  /** Places somewhere above the sender. */
  readonly places?: ReadonlySet<string> | undefined
  readonly subjects?: ReadonlySet<string> | undefined
  readonly words: readonly FreetextTerm[]
}

/** Fails with `request_invalid`. */
export function parseReportFilters(filters: JsonObject, nowMs: number): ReportFilters {
  const { forms, date, verified, valid, facilities, subjectIds, search } = filters
  const subjects = listIn(subjectIds).filter(isText)
  return {
    forms: selectedIn(forms, 'code'),
    date: dateRangeIn(date, nowMs),
    verified: verified === undefined ? undefined : new Set(verifiedValues(verified)),
    isValid: isGiven(valid) ? valid === true || valid === 'true' : undefined,
    places: selectedIn(facilities, '_id'),
    subjects: subjects.length === 0 ? undefined : new Set(subjects),
    words: parseSearch(search),
  }
}

const verifiedValues = (given: unknown): readonly (boolean | null)[] =>
  (Array.isArray(given) || isObject(given) ? listIn(given) : [given]).map(value => {
    if (value === true || value === 'true') return true
    return value === false || value === 'false' ? false : null
  })

export function isFilteredReport(report: Document, filters: ReportFilters): boolean {
  const { forms, date, verified, isValid, places, subjects, words } = filters
  return (
    isReport(report) &&
    (forms === undefined || forms.has(report.form as string)) &&
    (date === undefined || isWithin(report.reported_date, date)) &&
    (verified === undefined || verified.has(report.verified ?? null)) &&
    (isValid === undefined || isValid === hasNoErrors(report)) &&
    (places === undefined || placesAbove(report).some(id => places.has(id))) &&
    (subjects === undefined || subjectsOf(report).some(id => subjects.has(id))) &&
    (words.length === 0 || reportHasWords(report, words))
  )
}

export const isWithin = (value: unknown, { fromMs, toMs }: DateRange): boolean =>
  typeof value === 'number' && value >= fromMs && value <= toMs

const hasNoErrors = ({ errors }: Document): boolean => !Array.isArray(errors) || errors.length === 0

const placesAbove = ({ contact }: Document): string[] =>
  isObject(contact) ? idsUpFrom(contact.parent) : []

function subjectsOf(report: Document): string[] {
  const fields = isObject(report.fields) ? report.fields : {}
  const values = [
    report.patient_id,
    report.place_id,
    report.case_id,
    fields.patient_id,
    fields.place_id,
    fields.case_id,
    fields.patient_uuid,
    fields.place_uuid,
  ]
  return values.flatMap(value => (value ? [String(value)] : []))
}
