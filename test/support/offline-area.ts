/** What lies inside and outside the area of an offline user who works for `center`; for tests of what he gets to see. */
const link = (...ids: string[]): object | undefined =>
  ids.reduceRight<object | undefined>(
    (parent, _id) => (parent === undefined ? { _id } : { _id, parent }),
    undefined,
  )

const person = (_id: string, ...places: string[]) => ({
  _id,
  type: 'person',
  name: _id,
  parent: link(...places),
})

const report = (_id: string, fields: object, submitter?: object) => ({
  _id,
  type: 'data_record',
  form: 'visit',
  reported_date: 1,
  fields,
  ...(submitter === undefined ? {} : { contact: submitter }),
})

export const STRANGER = link('stranger', 'other', 'district') as object
export const NURSE = link('nurse', 'center', 'district') as object

/** Documents that the user's devices hold. */
export const INSIDE: readonly Record<string, unknown>[] = [
  report('in-by-code', { patient_id: '2001' }, NURSE),
  report('in-by-stranger', { patient_uuid: 'mother' }, STRANGER),
  report('in-own', {}, NURSE),
  report('in-private-own', { patient_id: 'center', private: true }, NURSE),
  report('in-signoff', { patient_id: 'stranger', needs_signoff: true }, NURSE),
  {
    ...report('in-bad-code', { patient_id: 'nonsense' }, NURSE),
    errors: [{ code: 'registration_not_found' }],
  },
  {
    _id: 'in-message',
    type: 'data_record',
    sms_message: { message: 'x' },
    contact: { _id: 'mother' },
  },
  {
    _id: 'in-outgoing',
    type: 'data_record',
    kujua_message: true,
    tasks: [{ messages: [{ contact: { _id: 'clinic' } }] }],
  },
  { _id: 'task~in', type: 'task', user: 'org.svc.user:rita', owner: 'mother' },
  { _id: 'target~in', type: 'target', owner: 'nurse', user: 'org.svc.user:x' },
  { _id: 'messages-en', type: 'translations', code: 'en' },
  { _id: 'service-worker-meta', digest: 'x' },
  { _id: 'branding', title: 'x' },
]

/** Documents that they do not. */
export const OUTSIDE: readonly Record<string, unknown>[] = [
  { _id: 'other', type: 'health_center', name: 'Other', parent: link('district') },
  person('stranger', 'other', 'district'),
  report('out-foreign', { patient_id: 'stranger' }, NURSE),
  report('out-unknown', { patient_id: 'nonsense' }, NURSE),
  report('out-private', { patient_id: 'center', private: true }, STRANGER),
  report('out-unassigned', {}),
  { _id: 'task~out', type: 'task', user: 'org.svc.user:somebody', owner: 'mother' },
  { _id: 'target~out', type: 'target', owner: 'stranger', user: 'org.svc.user:rita' },
  { _id: 'feedback-1', type: 'feedback', meta: {} },
  { _id: 'out-plain', note: 'of no kind' },
]
