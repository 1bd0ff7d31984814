/**
 * Settings of a programme: a form registers people, who get a short id, an answer and a schedule of reminders; reports
 * about them are thanked for and end reminders. What tests and benchmarks differ in is what they say.
 */
export const text = (content: string) => [{ locale: 'en', content }]

export interface ProgrammeSettings {
  readonly forms: Readonly<Record<string, unknown>>
  /** The form that registers; what else its registration has. */
  readonly registration: Readonly<Record<string, unknown>> & { readonly form: string }
  readonly answer: string
  readonly schedule: string
  readonly reminders: readonly Readonly<Record<string, unknown>>[]
  /** Forms of reports that end reminders; what else they have. */
  readonly visitForms: readonly string[]
  readonly visit?: Readonly<Record<string, unknown>>
  readonly thanks: string
  /** Beside those that all of this takes. */
  readonly transitions?: Readonly<Record<string, boolean>>
}

export const programmeSettings = (own: ProgrammeSettings) => ({
  forms: own.forms,
  transitions: {
    update_clinics: true,
    update_sent_by: true,
    registration: true,
    accept_patient_reports: true,
    generate_shortcode_on_contacts: true,
    default_responses: true,
    ...own.transitions,
  },
  default_responses: { start_date: '2020-01-01' },
  registrations: [
    {
      ...own.registration,
      events: [
        { name: 'on_create', trigger: 'add_patient' },
        { name: 'on_create', trigger: 'assign_schedule', params: own.schedule },
      ],
      messages: [{ message: text(own.answer), recipient: 'from' }],
    },
  ],
  schedules: [
    {
      name: own.schedule,
      messages: own.reminders.map(reminder => ({ ...reminder, recipient: 'reporting_unit' })),
    },
  ],
  patient_reports: own.visitForms.map(form => ({
    form,
    silence_type: own.schedule,
    ...own.visit,
    messages: [{ event_type: 'report_accepted', message: text(own.thanks) }],
  })),
})

/** Forms without labels: `P` registers by name, `V` tells of a visit. */
export const PLAIN_FORMS = {
  P: { meta: { code: 'P' }, fields: { patient_name: { type: 'string', labels: {} } } },
  V: { meta: { code: 'V' }, fields: { patient_id: { type: 'string', labels: {} } } },
}
