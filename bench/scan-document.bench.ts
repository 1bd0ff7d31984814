/**
 * How fast is one pass over a document's bytes (check, compact text, hash input, MD5), compared
 * with JSON.parse, JSON.stringify and the same MD5? Run: node --import tsx
 * bench/scan-document.bench.ts
 */
import { hash } from 'node:crypto'
import { scanBulkDocs, scanDocument } from '../src/core/document/incoming-document.ts'
import { newRevisionId } from '../src/core/document/revision-hash.ts'

const ROUNDS = 8
const COUNT = 20_000

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

/**
 * Best documents per second of CPU time; the contestants take turns, so that a busy machine
 * disturbs all alike.
 */
function race(
  title: string,
  bytesEach: number,
  contestants: [string, (count: number) => void][],
): number[] {
  console.log(`${title} (${Math.round(bytesEach)} bytes)`)
  const best = contestants.map(() => 0)
  for (let round = 0; round < ROUNDS; round++) {
    contestants.forEach(([, work], index) => {
      const before = process.cpuUsage()
      work(COUNT)
      const { user, system } = process.cpuUsage(before)
      best[index] = Math.max(best[index] ?? 0, (COUNT * 1e6) / (user + system))
    })
  }
  contestants.forEach(([name], index) => {
    const docs = best[index] ?? 0
    const speed = `${Math.round(docs).toLocaleString('en')} docs/s`
    const megabytes = ((docs * bytesEach) / 1e6).toFixed(0)
    console.log(`  ${name.padEnd(40)} ${speed.padStart(18)} ${megabytes.padStart(6)} MB/s`)
  })
  return best
}

function compare(title: string, bytes: Buffer): void {
  const [ours, , theirs] = race(title, bytes.length, [
    [
      'scanDocument + revision',
      count => {
        for (let index = 0; index < count; index++) {
          const { document } = scanDocument(bytes)
          newRevisionId({ deleted: false, bodyTerm: document.bodyTerm })
        }
      },
    ],
    [
      'scanDocument',
      count => {
        for (let index = 0; index < count; index++) scanDocument(bytes)
      },
    ],
    [
      'JSON.parse + JSON.stringify + MD5',
      count => {
        for (let index = 0; index < count; index++) {
          const { _id, ...body } = JSON.parse(bytes.toString('utf8'))
          Buffer.from(hash('md5', Buffer.from(JSON.stringify(body)), 'binary'), 'latin1')
        }
      },
    ],
    [
      'JSON.parse',
      count => {
        for (let index = 0; index < count; index++) JSON.parse(bytes.toString('utf8'))
      },
    ],
  ])
  console.log(`  ratio ${((ours ?? 0) / (theirs ?? 1)).toFixed(2)}`)
}

compare('compact', Buffer.from(JSON.stringify(sample)))
compare('pretty', Buffer.from(JSON.stringify(sample, null, 2)))
const story = { ...sample, story: 'It was a long day at the clinic. '.repeat(100) }
compare('with a long text', Buffer.from(JSON.stringify(story)))

const bulk = Buffer.from(JSON.stringify({ docs: Array.from({ length: 1000 }, () => sample) }))
race('bulk', bulk.length / 1000, [
  [
    'scanBulkDocs of 1000 + revisions',
    count => {
      for (let done = 0; done < count; done += 1000) {
        for (const { bodyTerm } of scanBulkDocs(bulk).documents) {
          newRevisionId({ deleted: false, bodyTerm })
        }
      }
    },
  ],
])
