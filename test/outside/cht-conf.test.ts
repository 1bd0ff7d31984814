/**
 * The platform's own command-line tool, as it comes from npm, configures this server: it knows nothing of our names, and
 * asks for the product's. It runs as a program of its own, in a folder with a small project.
 *
 * Its sessions need a cookie that says when it ends, which this server sends where `allow_persistent_cookies` is on.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { startServer, type TestServer } from '../support/start-server.ts'
import { ROOT } from '../tidy/source-tree.ts'

const run = promisify(execFile)
const PROGRAM = join(ROOT, 'node_modules/.bin/cht')
const FLAGS = ['--skip-dependency-check', '--skip-version-check', '--skip-git-check', '--force']
const TIMEOUT_MS = 120_000

type Json = Record<string, unknown>

const xform = (name: string, id: string, title: string): string => `<?xml version="1.0"?>
<h:html xmlns="http://www.w3.org/2002/xforms" xmlns:h="http://www.w3.org/1999/xhtml">
  <h:head>
    <h:title>${title}</h:title>
    <model>
      <instance>
        <${name} id="${id}" version="1">
          <inputs><contact><_id/></contact></inputs>
          <note/>
          <meta tag="hidden"><instanceID/></meta>
        </${name}>
      </instance>
      <bind nodeset="/${name}/note" type="string"/>
      <bind nodeset="/${name}/meta/instanceID" type="string" readonly="true()"/>
    </model>
  </h:head>
  <h:body class="pages">
    <input ref="/${name}/note"><label>Note</label></input>
  </h:body>
</h:html>
`

const PICTURE = '<svg xmlns="http://www.w3.org/2000/svg"/>\n'

const PROJECT: Readonly<Record<string, string>> = {
  'app_settings.json': JSON.stringify({
    locale: 'en',
    locales: [{ code: 'en', name: 'English' }],
    default_country_code: '254',
    own: { a: 1 },
  }),
  'forms/app/visit.xml': xform('visit', 'visit', 'Visit'),
  'forms/app/visit.properties.json': JSON.stringify({
    title: [{ locale: 'en', content: 'Visit' }],
    icon: 'icon-visit',
    context: { person: true, place: false },
  }),
  'forms/contact/clinic-create.xml': xform('clinic', 'contact:clinic:create', 'New clinic'),
  'resources.json': JSON.stringify({ 'icon-visit': 'visit.svg' }),
  'resources/visit.svg': PICTURE,
  'branding.json': JSON.stringify({ title: 'Ours', resources: { logo: 'logo.svg' } }),
  'branding/logo.svg': PICTURE,
  'translations/messages-en.properties': 'Hello = Hello there\n',
  'database-indexes.json': JSON.stringify({ things: { fields: ['type', 'name'] } }),
  'csv/place.district_hospital.csv': 'reference_id:excluded,name\nd1,Kisumu\nd2,Nairobi\n',
  'csv/person.csv': [
    'reference_id:excluded,parent:place WHERE reference_id=COL_VAL,name,phone',
    'p1,d1,Mary,+254712345678',
    'p2,d1,Ann,+254712345679',
    '',
  ].join('\n'),
  'sms.csv': 'from,message\n+254712345678,hello\n',
}

let folder: string
let server: TestServer
let url: string

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gurney-cht-conf-'))
  for (const [path, text] of Object.entries(PROJECT)) write(path, text)
  const auth = { secret: 'secret', iterations: '10', allow_persistent_cookies: 'true' }
  server = await startServer({ application: true, settings: { svc_httpd_auth: auth } })
  url = (await server.listen()).replace('http://', 'http://admin:pass@')
})
after(async () => {
  await server.close()
  rmSync(folder, { recursive: true, force: true })
})

function write(path: string, text: string): void {
  const file = join(folder, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}

/** What it printed; fails when it ends with anything but 0. */
async function cht(action: string, ...more: string[]): Promise<string> {
  const args = [PROGRAM, `--url=${url}`, ...FLAGS, action, ...more]
  const options = { cwd: folder, timeout: TIMEOUT_MS, env: { ...process.env, NO_COLOR: '1' } }
  try {
    const { stdout, stderr } = await run(process.execPath, args, options)
    return stdout + stderr
  } catch (thrown) {
    const { stdout, stderr } = thrown as { stdout?: string; stderr?: string }
    return assert.fail(`${action}: ${stdout ?? ''}${stderr ?? String(thrown)}`)
  }
}

async function stored(path: string): Promise<Json> {
  const { status, json } = await server.ask('GET', path)
  assert.equal(status, 200, path)
  return json as Json
}

/** Documents that were made of the CSV files, by name. */
const made = (): Map<string, Json> =>
  new Map(
    readdirSync(join(folder, 'json_docs'))
      .filter(name => name.endsWith('.doc.json'))
      .map(name => JSON.parse(readFileSync(join(folder, 'json_docs', name), 'utf8')) as Json)
      .map(document => [String(document.name), document]),
  )

const ids = new Map<string, string>()

function idOf(name: string): string {
  const id = ids.get(name)
  assert.ok(id !== undefined, `${name} was made before`)
  return id
}

describe('cht-conf', () => {
  it('upload-app-settings, backup-app-settings', async () => {
    await cht('upload-app-settings')
    const settings = await stored('/api/v1/settings')
    assert.deepEqual(settings.own, { a: 1 })
    assert.equal(settings.default_country_code, '254')
    await cht('backup-app-settings')
    const [backup] = readdirSync(join(folder, 'backups'))
    assert.match(readFileSync(join(folder, 'backups', String(backup)), 'utf8'), /"own"/)
  })

  it('upload-app-forms and upload-contact-forms, with what the server says of them', async () => {
    assert.doesNotMatch(await cht('upload-app-forms'), /endpoint not found/)
    await cht('upload-contact-forms')
    const visit = await stored('/svc/form:visit')
    assert.equal(visit.internalId, 'visit')
    assert.equal(visit.icon, 'icon-visit')
    const { text } = await server.ask('GET', '/svc/form:visit/xml')
    assert.match(text, /<h:title>Visit<\/h:title>/)
    assert.equal((await stored('/svc/form:contact:clinic:create')).type, 'form')
    await cht('upload-app-forms')
    assert.equal((await stored('/svc/form:visit'))._rev, visit._rev, 'the same is not sent again')
  })

  it('upload-resources, upload-branding, upload-custom-translations', async () => {
    await cht('upload-resources')
    const resources = await stored('/svc/resources')
    assert.deepEqual(resources.resources, { 'icon-visit': 'visit.svg' })
    assert.equal((await server.ask('GET', '/svc/resources/visit.svg')).text, PICTURE)
    await cht('upload-branding')
    assert.equal((await stored('/svc/branding')).title, 'Ours')
    await cht('upload-custom-translations')
    const messages = await stored('/svc/messages-en')
    assert.deepEqual(messages.custom, { Hello: 'Hello there' })
  })

  it('upload-database-indexes', async () => {
    await cht('upload-database-indexes')
    assert.match((await server.ask('GET', '/svc/_index')).text, /things/)
  })

  it('csv-to-docs and upload-docs', async () => {
    await cht('csv-to-docs')
    for (const [name, { _id }] of made()) ids.set(name, String(_id))
    assert.match(await cht('upload-docs'), /4 of 4 docs uploaded/)
    const mary = await stored(`/svc/${idOf('Mary')}`)
    assert.equal(mary.phone, '+254712345678')
    assert.equal((mary.parent as Json)._id, idOf('Kisumu'))
  })

  it('create-users, who can then log in', async () => {
    const columns = 'username,password,roles,name,phone,contact,place'
    const line = `bob,Secret_1234,chw,Bob,+254712345600,${idOf('Mary')},${idOf('Kisumu')}`
    write('users.csv', `${columns}\n${line}\n`)
    await cht('create-users')
    const account = await stored('/_users/org.svc.user:bob')
    assert.deepEqual(account.facility_id, [idOf('Kisumu')])
    assert.equal(account.contact_id, idOf('Mary'))
    assert.equal((await stored('/svc/org.svc.user:bob')).type, 'user-settings')
    const { status } = await server.ask('GET', '/api/v1/settings', { user: 'bob:Secret_1234' })
    assert.equal(status, 200)
  })

  it('edit-contacts and move-contacts', async () => {
    const [mary, nairobi] = [idOf('Mary'), idOf('Nairobi')]
    write('csv/contact.csv', `documentID,nickname\n${mary},May\n`)
    rmSync(join(folder, 'json_docs'), { recursive: true })
    await cht('edit-contacts', '--', '--columns=nickname')
    await cht('upload-docs')
    assert.equal((await stored(`/svc/${mary}`)).nickname, 'May')

    rmSync(join(folder, 'json_docs'), { recursive: true })
    await cht('move-contacts', '--', `--contacts=${mary}`, `--parent=${nairobi}`)
    await cht('upload-docs')
    assert.deepEqual((await stored(`/svc/${mary}`)).parent, { _id: nairobi })
  })

  it('upload-sms-from-csv', async () => {
    await cht('upload-sms-from-csv')
    const { text } = await server.ask('POST', '/svc/_find', {
      body: { selector: { 'sms_message.message': 'hello' } },
    })
    assert.match(text, /\+254712345678/)
  })

  it('delete-all-forms', async () => {
    await cht('delete-all-forms')
    assert.equal((await server.ask('GET', '/svc/form:visit')).status, 404)
  })
})
