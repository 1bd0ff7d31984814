/**
 * How fast is one pass over a document's bytes (check, compact text, hash input, MD5), compared with
 * JSON.parse, JSON.stringify and the same MD5? Run: node --import tsx bench/scan-document.bench.ts
 */
import { hash } from 'node:crypto'
import { scanBulkDocs, scanDocument } from '../src/core/document/incoming-document.ts'
import { newRevisionId } from '../src/core/document/revision-hash.ts'

const ROUNDS = 5
const COUNT = 40_000

const sample = {
  _id: 'report:8f14e45f-ceea-4672-a3c8-1b2f6f0d9f01',
  type: 'data_record',
  form: 'pregnancy',
  reported_date: 1731628800123,
  patient_id: '72913',
  contact: { _id: 'contact-42', parent: { _id: 'clinic-7', parent: { _id: 'district-1' } } },
  fields: {
    weeks: 12,
    weight: 61.5,
    visits: [1, 2, 3],
    notes: 'first visit, all well',
    risk: false,
  },
  geolocation: { latitude: -1.286389, longitude: 36.817223, accuracy: 12.5 },
  tags: ['high', 'follow-up', 'anc'],
  errors: [],
  form_version: { time: 1731000000000, sha256: '9f86d081884c7d659a2feaa0c55ad015' },
}

function perSecond(name: string, bytesEach: number, count: number, work: () => void): number {
  let best = 0
  for (let round = 0; round < ROUNDS; round++) {
    const start = process.hrtime.bigint()
    work()
    const seconds = Number(process.hrtime.bigint() - start) / 1e9
    best = Math.max(best, count / seconds)
  }
  const speed = `${Math.round(best).toLocaleString('en')} docs/s`
  console.log(
    `${name.padEnd(44)} ${speed.padStart(20)}  ${((best * bytesEach) / 1e6).toFixed(0)} MB/s`,
  )
  return best
}

function compare(title: string, bytes: Buffer): void {
  console.log(`${title} (${bytes.length} bytes)`)
  const ours = perSecond('scanDocument + revision', bytes.length, COUNT, () => {
    for (let index = 0; index < COUNT; index++) {
      const { document } = scanDocument(bytes)
      newRevisionId({ deleted: false, bodyTerm: document.bodyTerm })
    }
  })
  perSecond('scanDocument', bytes.length, COUNT, () => {
    for (let index = 0; index < COUNT; index++) scanDocument(bytes)
  })
  const theirs = perSecond('JSON.parse + JSON.stringify + MD5', bytes.length, COUNT, () => {
    for (let index = 0; index < COUNT; index++) {
      const { _id, ...body } = JSON.parse(bytes.toString('utf8'))
      hash('md5', Buffer.from(JSON.stringify(body)), 'buffer')
    }
  })
  perSecond('JSON.parse', bytes.length, COUNT, () => {
    for (let index = 0; index < COUNT; index++) JSON.parse(bytes.toString('utf8'))
  })
  console.log(`  ratio ${(ours / theirs).toFixed(2)}`)
}

compare('compact', Buffer.from(JSON.stringify(sample)))
compare('pretty', Buffer.from(JSON.stringify(sample, null, 2)))

const bulk = Buffer.from(JSON.stringify({ docs: Array.from({ length: 1000 }, () => sample) }))
perSecond('scanBulkDocs of 1000 + revisions', bulk.length / 1000, 1000 * 20, () => {
  for (let round = 0; round < 20; round++) {
    for (const { bodyTerm } of scanBulkDocs(bulk).documents)
      newRevisionId({ deleted: false, bodyTerm })
  }
})
