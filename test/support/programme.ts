/** An application with background work under the test's control: settings, documents, and what becomes of them. */
import assert from 'node:assert/strict'
import type { BackgroundWork } from '../../src/app/background-work.ts'
import { startApplication, type TestApplication } from './application.ts'

export type Json = Readonly<Record<string, unknown>>

export interface Programme {
  readonly application: TestApplication
  readonly background: BackgroundWork
  /** What the clock shows; moves only when it is set. */
  nowMs: number
  settings(settings: Json): Promise<void>
  /** Stores documents and waits until all transitions have run. */
  store(...documents: readonly Json[]): Promise<void>
  /** Stores, and answers the first document as it is afterwards. */
  put(document: Json): Promise<Record<string, unknown>>
  get(id: string): Promise<Record<string, unknown>>
  info(id: string): Promise<Record<string, unknown>>
  settled(): Promise<void>
  close(): Promise<void>
}

export async function startProgramme(settings: Json = {}): Promise<Programme> {
  const time = { nowMs: Date.parse('2026-03-10T10:00:00Z') }
  const application = await startApplication(
    { svc_httpd_auth: { secret: 'hidden' } },
    () => time.nowMs,
  )
  const background = application.server.background()
  assert.ok(background !== undefined)
  const read = async (path: string): Promise<Record<string, unknown>> => {
    const { status, json } = await application.ask('GET', path)
    assert.equal(status, 200, `${path} is there`)
    return json as Record<string, unknown>
  }
  const programme: Programme = {
    application,
    background,
    get nowMs() {
      return time.nowMs
    },
    set nowMs(ms) {
      time.nowMs = ms
    },
    async settings(body) {
      const { status } = await application.ask('PUT', '/api/v1/settings?replace=1', { body })
      assert.equal(status, 200)
    },
    async store(...documents) {
      await application.store(...documents)
      await background.caughtUp()
    },
    async put(document) {
      await programme.store(document)
      return programme.get(document._id as string)
    },
    get: id => read(`/svc/${encodeURIComponent(id)}`),
    info: id => read(`/svc-sentinel/${encodeURIComponent(`${id}-info`)}`),
    settled: () => background.caughtUp(),
    close: () => application.close(),
  }
  await programme.settings(settings)
  background.start()
  return programme
}
