/**
 * Targets of a month added up for a system of health statistics: for every unit of organisation and every target of the
 * data set one value. A target counts for the unit of its owner and for those of all places above him.
 */
import type { ApplicationContext } from '../application-context.ts'
import { type Document, isObject, isText, type JsonObject, without } from '../documents/document.ts'
import { invalid } from '../documents/refusal.ts'
import { formatDate } from '../messages/format-date.ts'
import { currentTranslations } from '../messages/translations.ts'
import type { Settings } from '../settings/settings.ts'
import { idsUpFrom } from './contact-cards.ts'
import { type ExportRequest, isGiven, listIn, momentIn, requireObject } from './export-request.ts'

interface AggregateRequest {
  readonly dataSet: string
  readonly fromMs: number
  readonly orgUnit?: string | undefined
}

interface TargetDefinition {
  readonly id: unknown
  /** As the other system knows it. */
  readonly members: JsonObject
}

/** Fails with `request_invalid`. */
export async function exportAggregate(
  context: ApplicationContext,
  { filters, options }: ExportRequest,
): Promise<JsonObject> {
  const { settings, clock } = context
  const request = parseRequest(filters)
  const dataSet = dataSetsIn(settings).find(({ id }) => id === request.dataSet)
  if (dataSet === undefined) throw invalid(`dataSet "${request.dataSet}" is not defined`)
  const targets = targetsOf(settings, request.dataSet)
  if (targets.length === 0) throw invalid(`dataSet "${request.dataSet}" has no dataElements`)
  const units = await orgUnits(context, request)
  const sums = await addUp(context, request, units)
  const name = options.isHumanReadable ? await dataSetName(context, dataSet) : request.dataSet
  return {
    dataSet: name,
    completeDate: formatDate(clock(), { pattern: 'YYYY-MM-DD' }),
    period: formatDate(request.fromMs, { pattern: 'YYYYMM' }),
    dataValues: [...units.values()].flatMap(unit =>
      targets.map(({ id, members }) => ({
        ...members,
        ...(options.isHumanReadable ? { dataElement: id } : {}),
        orgUnit: options.isHumanReadable ? (unit.name ?? unit.id) : unit.id,
        value: sums.get(unit.id)?.get(id) ?? 0,
      })),
    ),
  }
}

function parseRequest(filters: JsonObject): AggregateRequest {
  const { dataSet, date, orgUnit, from: alone } = filters
  const { from = alone } = requireObject(date, 'filters.date')
  if (!isText(dataSet)) throw invalid('filter "dataSet" is required')
  if (!isGiven(from)) throw invalid('filter "from" is required')
  return {
    dataSet,
    fromMs: momentIn(from, 'from'),
    orgUnit: isText(orgUnit) ? orgUnit : undefined,
  }
}

const dataSetsIn = ({ all }: Settings): JsonObject[] =>
  [all.agg_data_sets, all.dhis_data_sets].flatMap(list =>
    Array.isArray(list) ? list.filter(isObject) : [],
  )

function targetsOf({ all }: Settings, dataSet: string): TargetDefinition[] {
  const tasks = isObject(all.tasks) ? all.tasks : {}
  const targets = isObject(tasks.targets) ? tasks.targets : {}
  const items = Array.isArray(targets.items) ? targets.items.filter(isObject) : []
  return items.flatMap(item =>
    attributesOf(item)
      .filter(each => isText(each.dataElement) && isOfDataSet(each, dataSet))
      .map(each => ({ id: item.id, members: without(each, 'dataSet') })),
  )
}

/** By either name, one or several. */
const attributesOf = ({ agg, dhis }: JsonObject): JsonObject[] =>
  [agg, dhis].flatMap(given => (Array.isArray(given) ? given : [given])).filter(isObject)

const isOfDataSet = ({ dataSet }: JsonObject, wanted: string): boolean =>
  !isGiven(dataSet) || dataSet === wanted

interface OrgUnit {
  readonly id: string
  readonly name: unknown
  /** Contacts that it is. */
  readonly contacts: ReadonlySet<string>
}

async function orgUnits(
  { data }: ApplicationContext,
  { dataSet, orgUnit }: AggregateRequest,
): Promise<ReadonlyMap<string, OrgUnit>> {
  const query = orgUnit === undefined ? {} : { startKey: orgUnit, endKey: orgUnit }
  const rows = await data.allRows(`${data.name}-admin`, 'contacts_by_dhis_orgunit', query)
  const contacts = await data.getMap(rows.map(({ id }) => id))
  const units = new Map<string, OrgUnit & { readonly contacts: Set<string> }>()
  for (const { id, key } of rows) {
    const contact = contacts.get(id)
    const isMeant = (each: JsonObject) => each.orgUnit === key && isOfDataSet(each, dataSet)
    if (contact === undefined || !attributesOf(contact).some(isMeant)) continue
    const unitId = String(key)
    const unit = units.get(unitId) ?? { id: unitId, name: contact.name, contacts: new Set() }
    unit.contacts.add(id)
    units.set(unitId, unit)
  }
  return units
}

type Sums = ReadonlyMap<string, ReadonlyMap<unknown, number>>

/** Unit -> target -> sum. */
async function addUp(
  { data }: ApplicationContext,
  { fromMs }: AggregateRequest,
  units: ReadonlyMap<string, OrgUnit>,
): Promise<Sums> {
  const sums = new Map<string, Map<unknown, number>>()
  for (const id of units.keys()) sums.set(id, new Map())
  const prefix = `target~${formatDate(fromMs, { pattern: 'YYYY-MM' })}~`
  for await (const documents of data.list({ start: prefix, end: `${prefix}\ufff0` })) {
    const owners = await data.getMap(documents.map(({ owner }) => String(owner ?? '')))
    for (const document of documents) {
      const owner = owners.get(String(document.owner))
      const chain = owner === undefined ? [] : [owner._id, ...idsUpFrom(owner.parent)]
      for (const unit of units.values()) {
        const isBelow = chain.some(id => unit.contacts.has(id))
        if (isBelow) addTargets(document, sums.get(unit.id) as Map<unknown, number>)
      }
    }
  }
  return sums
}

function addTargets({ targets }: Document, sums: Map<unknown, number>): void {
  for (const target of listIn(targets)) {
    if (!isObject(target) || !isObject(target.value)) continue
    const total = Number(target.value.total)
    if (Number.isFinite(total)) sums.set(target.id, (sums.get(target.id) ?? 0) + total)
  }
}

async function dataSetName({ data, settings }: ApplicationContext, dataSet: JsonObject) {
  const { translation_key: key, label, id } = dataSet
  if (!isText(key)) return label ?? id
  const locale = isText(settings.all.locale) ? settings.all.locale : 'en'
  return (await currentTranslations(data)).translate(key, locale)
}
