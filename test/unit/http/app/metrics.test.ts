/** `/api/v1/express-metrics`, and `_stats` and `_prometheus` of the database side, follow what happens. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { startServer, type TestServer } from '../../../support/start-server.ts'

let server: TestServer
before(async () => {
  server = await startServer({ application: true })
})
after(() => server.close())

async function scraped(): Promise<Map<string, number>> {
  const { status, text, headers } = await server.ask('GET', '/api/v1/express-metrics', {
    user: null,
  })
  assert.equal(status, 200)
  assert.match(String(headers['content-type']), /^text\/plain; version=0\.0\.4/)
  return seriesOf(text)
}

/** Every line is a comment or a series with a value; a series comes once. */
function seriesOf(text: string): Map<string, number> {
  const series = new Map<string, number>()
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith('#')) continue
    const [, name, value] = /^([a-zA-Z_:][\w:]*(?:\{.*\})?) (\S+)$/.exec(line) ?? []
    assert.ok(name !== undefined && !Number.isNaN(Number(value)), line)
    assert.ok(!series.has(name), `${name} comes twice`)
    series.set(name, Number(value))
  }
  return series
}

const labels = (method: string, route: string, code: number): string =>
  `method="${method}",route="${route}",code="${code}"`

describe('express-metrics', () => {
  it('count durations and sizes by route, method and status', async () => {
    const name = `svc_api_http_request_duration_seconds_count{${labels('GET', '/api/info', 200)}}`
    const before = (await scraped()).get(name) ?? 0
    const { bytes } = await server.ask('GET', '/api/info')
    await server.ask('GET', '/api/info')
    const series = await scraped()
    assert.equal(series.get(name), before + 2)
    const sizes = `svc_api_http_response_size_bytes_sum{${labels('GET', '/api/info', 200)}}`
    assert.equal(series.get(sizes), (before + 2) * bytes.length)
    const bucket = `svc_api_http_request_duration_seconds_bucket{le="3600",${labels('GET', '/api/info', 200)}}`
    assert.equal(series.get(bucket), before + 2)
  })

  it('know patterns of both APIs, never what clients invent', async () => {
    await server.ask('PUT', '/things')
    const body = { text: 'x'.repeat(1000) }
    await server.ask('PUT', '/things/some-document', { body })
    await server.ask('GET', '/things/some-document')
    await server.ask('GET', '/things/missing')
    await server.ask('GET', '/medic/settings')
    await server.ask('GET', '/api/no/such/thing')
    const series = await scraped()
    const count = (of: string): number | undefined =>
      series.get(`svc_api_http_request_duration_seconds_count{${of}}`)
    assert.equal(count(labels('PUT', '/{db}/{id}', 201)), 1)
    assert.equal(count(labels('GET', '/{db}/{id}', 200)), 2)
    assert.equal(count(labels('GET', '/{db}/{id}', 404)), 1)
    assert.equal(count(labels('GET', 'N/A', 404)), 1)
    const sent = `svc_api_http_request_size_bytes_sum{${labels('PUT', '/{db}/{id}', 201)}}`
    assert.equal(series.get(sent), JSON.stringify(body).length)
    assert.ok(![...series.keys()].some(name => name.includes('some-document')))
  })

  it('count streamed answers too', async () => {
    const docs = Array.from({ length: 50 }, () => ({ filler: 'y'.repeat(500) }))
    await server.ask('POST', '/things/_bulk_docs', { body: { docs } })
    const { bytes } = await server.ask('GET', '/things/_all_docs?include_docs=true')
    const name = `svc_api_http_response_size_bytes_sum{${labels('GET', '/{db}/_all_docs', 200)}}`
    assert.equal((await scraped()).get(name), bytes.length)
  })

  it('tell the version that is deployed', async () => {
    const series = await scraped()
    const name = 'svc_api_app_version{version="4.18.0",major="4",minor="18",patch="0"}'
    assert.equal(series.get(name), 1)
  })

  it('tell the database too', async () => {
    const before = await scraped()
    await server.ask('GET', '/things/some-document')
    const series = await scraped()
    const grown = (name: string): number => (series.get(name) ?? 0) - (before.get(name) ?? 0)
    assert.equal(grown('couchdb_database_reads_total'), 1)
    assert.ok(grown('couchdb_httpd_requests_total') >= 1)
    assert.ok(series.has('couchdb_request_time{quantile="0.5"}'))
  })

  it('are there as JSON', async () => {
    const { json } = await server.ask('GET', '/api/v1/express-metrics.json', { user: null })
    const names = (json as { name: string }[]).map(({ name }) => name)
    assert.ok(names.includes('svc_api_http_request_duration_seconds'))
  })

  it('answer when the application is gone', async () => {
    const lonely = await startServer({ application: true })
    await lonely.ask('DELETE', '/svc')
    const { status, text } = await lonely.ask('GET', '/api/v1/express-metrics', { user: null })
    assert.equal(status, 200)
    assert.match(text, /app_version\{version="4\.18\.0"/)
    await lonely.close()
  })
})

describe('figures of the database server', () => {
  const stat = async (path: string): Promise<number> => {
    const { json } = await server.ask('GET', `/_node/_local/_stats/${path}`)
    return (json as { value: number } | null)?.value ?? 0
  }

  const asked: [string, string, string, unknown?][] = [
    ['couchdb/database_reads', 'GET', '/things/some-document'],
    ['couchdb/database_writes', 'POST', '/things', {}],
    ['couchdb/httpd/bulk_requests', 'POST', '/things/_bulk_docs', { docs: [{}] }],
    ['couchdb/httpd/all_docs_requests', 'GET', '/things/_all_docs'],
    ['couchdb/httpd/changes_requests', 'GET', '/things/_changes'],
    ['couchdb/httpd/find_requests', 'POST', '/things/_find', { selector: { a: 1 } }],
    ['couchdb/httpd/view_reads', 'GET', '/svc/_design/svc-conflicts/_view/conflicts'],
    ['couchdb/local_document_writes', 'PUT', '/things/_local/here', { a: 1 }],
    ['couchdb/httpd_request_methods/PUT', 'PUT', '/things/another', {}],
    ['couchdb/httpd_status_codes/404', 'GET', '/things/nowhere'],
  ]
  for (const [path, method, url, body] of asked) {
    it(`${path} follows ${method} ${url}`, async () => {
      const before = await stat(path)
      await server.ask(method, url, body === undefined ? {} : { body })
      assert.equal(await stat(path), before + 1)
    })
  }

  it('are the same in _prometheus', async () => {
    const { text } = await server.ask('GET', '/_node/_local/_prometheus')
    const series = seriesOf(text)
    assert.equal(series.get('couchdb_database_writes_total'), await stat('couchdb/database_writes'))
    assert.ok((series.get('couchdb_httpd_status_codes_total{code="404"}') ?? 0) > 0)
    assert.ok((series.get('couchdb_memory_bytes{memory_type="rss"}') ?? 0) > 0)
    assert.ok(series.has('couchdb_uptime_seconds'))
  })
})
