/**
 * Contacts in a hierarchy and reports about them, from a seed: the same documents at every run. At scale 1 there are 200,000
 * contacts and 500,000 reports; whatever the scale, a health center with all below it is about 10,000 documents.
 */
export type Doc = { _id: string; [member: string]: unknown }

export const CLINICS_PER_CENTER = 476
export const PEOPLE_PER_CLINIC = 5
const CENTERS = 70
const REPORTS_PER_PERSON = 3
const FORMS = ['visit', 'delivery', 'stock']

export const NAMES =
  `Amina Juma Wanjiru Otieno Achieng Kiprop Mutua Njeri Odhiambo Chebet Barasa Nyambura Kamau
  Akinyi Wekesa Moraa Omondi Jepkosgei Mwangi Atieno`.split(/\s+/)

export class HealthData {
  readonly centerCount: number
  #state = 4711

  constructor(scale: number) {
    this.centerCount = Math.max(2, Math.round(CENTERS * scale))
  }

  *documents(): Generator<Doc, void, undefined> {
    yield { _id: 'district', type: 'district_hospital', name: 'District' }
    for (let center = 0; center < this.centerCount; center++) yield* this.#center(center)
  }

  *#center(number: number): Generator<Doc, void, undefined> {
    const parent = { _id: 'district' }
    const center = { _id: `center-${number}`, parent }
    const nurse = { _id: `${center._id}-nurse`, parent: center }
    yield { ...center, type: 'health_center', name: `Center ${number}`, contact: nurse }
    yield { ...nurse, type: 'person', name: this.#name() }
    for (let clinic = 0; clinic < CLINICS_PER_CENTER; clinic++) {
      const place = { _id: `${center._id}-clinic-${clinic}`, parent: center }
      const first = { _id: `${place._id}-0`, parent: place }
      yield { ...place, type: 'clinic', name: `${this.#name()} household`, contact: first }
      for (let person = 0; person < PEOPLE_PER_CLINIC; person++) {
        yield* this.#person({ _id: `${place._id}-${person}`, parent: place }, number, nurse)
      }
    }
  }

  *#person(person: Doc, center: number, nurse: Doc): Generator<Doc, void, undefined> {
    const patient = `${1_000_000 + this.#below(8_000_000)}${center}`
    yield { ...person, type: 'person', name: this.#name(), patient_id: patient }
    for (let report = 0; report < REPORTS_PER_PERSON; report++) {
      yield {
        _id: `${person._id}-report-${report}`,
        type: 'data_record',
        form: FORMS[this.#below(FORMS.length)],
        reported_date: 1_700_000_000_000 + this.#below(30_000_000_000),
        fields: {
          patient_id: patient,
          note: `Seen by ${this.#name()}`,
          weight: this.#below(90),
        },
        contact: nurse,
      }
    }
  }

  #name(): string {
    return `${NAMES[this.#below(NAMES.length)]} ${NAMES[this.#below(NAMES.length)]}`
  }

  #below(limit: number): number {
    this.#state = (Math.imul(this.#state, 1103515245) + 12345) >>> 0
    return Math.floor((this.#state / 4294967296) * limit)
  }
}
