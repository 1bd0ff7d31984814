/**
 * Checks a report against the rules that are configured for its form. Every rule that does not hold gives an error with
 * the code `invalid_{property}` and the configured text. A rule that cannot be read holds for nobody: it is told as
 * an error of the rule.
 */
import { normalizePhone } from '../../contacts/phone-number.ts'
import { type Document, isObject, isText, type JsonObject } from '../../documents/document.ts'
import { addSpan } from '../../schedules/offset.ts'
import { messagesIn } from '../submission.ts'
import type { RecordError, Work } from '../work.ts'
import { parseRule, type Rule, RuleError } from './parse-rule.ts'
import { RULE_FUNCTIONS, type RuleInput, textOf } from './rule-functions.ts'

/** The errors of a report, with what to tell its sender. Leaves nothing behind. */
export async function validate(work: Work, validations: unknown): Promise<RecordError[]> {
  const list = isObject(validations) && Array.isArray(validations.list) ? validations.list : []
  const values = valuesOf(work)
  const errors: RecordError[] = []
  for (const rule of list.filter(isObject)) {
    const { property } = rule
    if (!isText(property) || !isText(rule.rule)) continue
    const name = property.trim()
    if (await isHeld(work, rule.rule, name, values)) continue
    errors.push({ code: `invalid_${name}`, message: work.render(rule) })
  }
  return errors
}

/** Leaves errors in the report and answers its sender: with all texts, or the first. */
export function reportErrors(
  work: Work,
  errors: readonly RecordError[],
  rules: { readonly validations?: unknown; readonly messages?: unknown },
  why: string,
): void {
  for (const error of errors) work.addError(error)
  const joins = isObject(rules.validations) && Boolean(rules.validations.join_responses)
  const texts = errors.map(({ message }) => message).filter(text => text !== '')
  const text = joins ? texts.join('  ') : (texts[0] ?? '')
  if (text === '') return
  const recipient = messagesIn(rules.messages).find(({ recipient: to }) => isText(to))?.recipient
  work.addMessage({ message: text, recipient: recipient ?? 'reporting_unit' }, `${why}:invalid`)
}

function valuesOf({ stored, fields }: Work): Map<string, unknown> {
  const values = new Map<string, unknown>()
  for (const holder of [stored, fields]) {
    for (const [name, value] of Object.entries(holder)) values.set(name.toLowerCase(), value)
  }
  return values
}

async function isHeld(
  work: Work,
  text: string,
  property: string,
  values: ReadonlyMap<string, unknown>,
): Promise<boolean> {
  const rule = parseRule(text)
  const value = values.get(property.toLowerCase())
  if (textOf(value) === '' && mentions(rule, 'optional')) return true
  const nowMs = work.desk.clock()
  return holds({ work, property, input: { value, values, nowMs } }, rule, true)
}

interface Check {
  readonly work: Work
  readonly property: string
  readonly input: Omit<RuleInput, 'args'>
}

/** @param neutral what a word that decides nothing (`optional`) counts as where it stands */
async function holds(check: Check, rule: Rule, neutral: boolean): Promise<boolean> {
  if (rule.kind === 'not') return !(await holds(check, rule.of, !neutral))
  if (rule.kind === 'choice') {
    return holds(check, (await holds(check, rule.test, true)) ? rule.yes : rule.no, neutral)
  }
  if (rule.kind === 'call') {
    return rule.name === 'optional' ? neutral : call(check, rule.name, rule.args)
  }
  const stopsAt = rule.kind === 'or'
  for (const part of rule.parts) {
    if ((await holds(check, part, !stopsAt)) === stopsAt) return stopsAt
  }
  return !stopsAt
}

async function call(check: Check, name: string, args: readonly string[]): Promise<boolean> {
  const plain = Object.hasOwn(RULE_FUNCTIONS, name) ? RULE_FUNCTIONS[name] : undefined
  if (plain !== undefined) return plain({ ...check.input, args })
  const asking = Object.hasOwn(ASKING, name) ? ASKING[name] : undefined
  if (asking === undefined) throw new RuleError(`has an unknown function '${name}'`)
  return asking(check, args)
}

type AskingFunction = (check: Check, args: readonly string[]) => Promise<boolean>

const ASKING: Readonly<Record<string, AskingFunction>> = {
  regex: async ({ work, input }, [pattern = '', flags = '']) =>
    // A pattern may take for ever on the right text: it runs where it can be stopped.
    work.desk.expressions.isTrue({
      source: 'new RegExp(pattern, flags).test(text)',
      names: { pattern, flags, text: textOf(input.value) },
    }),
  exists: async (check, [form = '', field = '']) => {
    const reports = await reportsWith(check, [field])
    return reports.some(each => each.form === form && isSameValue(each, field, check.input.value))
  },
  unique: async (check, args) => (await sameReports(check, args)).length === 0,
  uniquewithin: async (check, args) => {
    const spanMs = addSpan(check.work.reportedMs, `-${args.at(-1) ?? ''}`)
    if (spanMs === undefined) throw new RuleError(`has no span of time in '${args.at(-1)}'`)
    const same = await sameReports(check, args.slice(0, -1))
    return same.every(each => Number(each.reported_date ?? 0) < spanMs)
  },
  validphone: async ({ work, input }) =>
    normalizePhone(textOf(input.value), work.desk.settings) !== undefined,
  uniquephone: async ({ work, input }) => {
    const { data, client, settings } = work.desk
    const phone = normalizePhone(textOf(input.value), settings)
    if (phone === undefined) return false
    const rows = await data.allRows(client, 'contacts_by_phone', { keys: [phone] })
    const found = await data.getMany(rows.map(({ id }) => id))
    // Somebody whom this very report has made is not another one.
    return found.every(each => each === undefined || each.source_id === work.id)
  },
}

/** Valid reports of the same form that have the same values. */
async function sameReports(check: Check, names: readonly string[]): Promise<Document[]> {
  const { work, property } = check
  const fields = names.length === 0 ? [property] : names
  const reports = await reportsWith(check, fields)
  return reports.filter(
    each =>
      each.form === work.stored.form &&
      !(Array.isArray(each.errors) && each.errors.length > 0) &&
      fields.every(name => isSameValue(each, name, check.input.values.get(name.toLowerCase()))),
  )
}

const MATCHES_MAX = 1000

/** Other reports that have the value of the first of these fields, by the words that are searched for. */
async function reportsWith(
  { work, input }: Check,
  [name = '']: readonly string[],
): Promise<Document[]> {
  const { data, client } = work.desk
  const value = textOf(input.values.get(name.toLowerCase()))
  const text = `${name.toLowerCase()}:${value.trim().normalize('NFC').toLowerCase()}`
  const rows = await data.allRows(client, 'reports_by_freetext', { keys: [[text]] })
  const ids = rows.map(({ id }) => id).filter(id => id !== work.id)
  const found = await data.getMany(ids.slice(0, MATCHES_MAX))
  return found.filter(each => each !== undefined)
}

function isSameValue(report: Document, name: string, value: unknown): boolean {
  const fields: JsonObject = isObject(report.fields) ? report.fields : {}
  const found = Object.hasOwn(fields, name) ? fields[name] : report[name]
  return textOf(found).toLowerCase() === textOf(value).toLowerCase()
}

function mentions(rule: Rule, name: string): boolean {
  if (rule.kind === 'call') return rule.name === name
  if (rule.kind === 'not') return mentions(rule.of, name)
  if (rule.kind === 'choice') {
    return [rule.test, rule.yes, rule.no].some(part => mentions(part, name))
  }
  return rule.parts.some(part => mentions(part, name))
}
