/**
 * `_design/svc-lookup`: the few views that work on incoming records asks all the time, by themselves. The same views are in
 * the large design documents for everybody else; but an index is brought up to date as a whole, and here that has to be
 * cheap.
 */
import { clientDesign } from './client-design.ts'
import { mainDesign } from './main-design.ts'
import type { DesignDefinition, ViewDefinition } from './map-function.ts'

export const LOOKUP_VIEWS = [
  'contacts_by_phone',
  'contacts_by_reference',
  'docs_by_shortcode',
  'registered_patients',
] as const

export type LookupView = (typeof LOOKUP_VIEWS)[number]

export const isLookupView = (name: string): name is LookupView =>
  (LOOKUP_VIEWS as readonly string[]).includes(name)

export const lookupDesignName = (database: string): string => `${database}-lookup`

export function lookupDesign(name: string): DesignDefinition {
  const all = { ...clientDesign(name).views, ...mainDesign(name).views }
  const views = LOOKUP_VIEWS.map(view => [view, all[view] as ViewDefinition] as const)
  return { name: lookupDesignName(name), views: Object.fromEntries(views) }
}
