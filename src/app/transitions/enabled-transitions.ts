/**
 * All transitions in the order they run in, and which of them the settings switch on. Made once for a settings snapshot. A
 * name that nobody knows is told and otherwise ignored: one old word must not stop a programme.
 */
import { isObject } from '../documents/document.ts'
import type { Settings } from '../settings/settings.ts'
import { acceptCaseReports } from './list/accept-case-reports.ts'
import { acceptPatientReports } from './list/accept-patient-reports.ts'
import { conditionalAlerts } from './list/conditional-alerts.ts'
import { createUserForContacts } from './list/create-user-for-contacts.ts'
import { deathReporting } from './list/death-reporting.ts'
import { defaultResponses } from './list/default-responses.ts'
import {
  generatePatientIdOnPeople,
  generateShortcodeOnContacts,
} from './list/generate-shortcode-on-contacts.ts'
import { markForOutbound } from './list/mark-for-outbound.ts'
import { multiReportAlerts } from './list/multi-report-alerts.ts'
import { muting } from './list/muting.ts'
import { registration } from './list/registration.ts'
import { resolvePending } from './list/resolve-pending.ts'
import { selfReport } from './list/self-report.ts'
import { updateClinics } from './list/update-clinics.ts'
import { updateNotifications } from './list/update-notifications.ts'
import { updateScheduledReports } from './list/update-scheduled-reports.ts'
import { updateSentBy } from './list/update-sent-by.ts'
import type { Transition } from './transition.ts'

export const TRANSITIONS: readonly Transition[] = [
  updateClinics,
  selfReport,
  registration,
  acceptPatientReports,
  acceptCaseReports,
  generateShortcodeOnContacts,
  generatePatientIdOnPeople,
  defaultResponses,
  updateSentBy,
  deathReporting,
  conditionalAlerts,
  multiReportAlerts,
  updateNotifications,
  updateScheduledReports,
  resolvePending,
  muting,
  markForOutbound,
  createUserForContacts,
]

const KNOWN = new Set(TRANSITIONS.map(({ name }) => name))

export interface EnabledTransitions {
  readonly all: readonly Transition[]
  /** Those that run before a record is first written. */
  readonly onArrival: readonly Transition[]
  readonly unknown: readonly string[]
}

const made = new WeakMap<Settings, EnabledTransitions>()

export function enabledTransitions(settings: Settings): EnabledTransitions {
  const known = made.get(settings)
  if (known !== undefined) return known
  const all = TRANSITIONS.filter(({ name }) => isEnabled(settings, name))
  const configured = isObject(settings.all.transitions) ? settings.all.transitions : {}
  const enabled = {
    all,
    onArrival: all.filter(({ runsOnArrival }) => runsOnArrival),
    unknown: Object.keys(configured).filter(name => !KNOWN.has(name)),
  }
  made.set(settings, enabled)
  return enabled
}

/** On is whatever is truthy and not an object that says `disable`. */
export function isEnabled({ all }: Settings, name: string): boolean {
  const configured = isObject(all.transitions) ? all.transitions : {}
  const value = Object.hasOwn(configured, name) ? configured[name] : undefined
  return Boolean(value) && !(isObject(value) && Boolean(value.disable))
}
