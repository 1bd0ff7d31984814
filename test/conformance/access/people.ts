/** Who walks the routes, and the database they walk in: one of each kind of right there is. */
import type { AskOptions, TestServer } from '../../support/start-server.ts'

/** In the order of the columns of the tables. */
export const PEOPLE = ['anonymous', 'stranger', 'member', 'databaseAdmin', 'serverAdmin'] as const
export type Person = (typeof PEOPLE)[number]

const LOGINS: Readonly<Record<Person, string | null>> = {
  anonymous: null,
  stranger: 'sam:pw-s',
  member: 'mia:pw-m',
  databaseAdmin: 'dana:pw-d',
  serverAdmin: 'admin:pass',
}

export const as = (person: Person): Pick<AskOptions, 'user'> => ({ user: LOGINS[person] })

export const SECURITY = { admins: { names: ['dana'] }, members: { names: ['mia'] } }

export async function registerPeople(server: TestServer): Promise<void> {
  await server.ask('PUT', '/_users')
  for (const login of Object.values(LOGINS)) {
    const [name, password] = (login ?? '').split(':')
    if (name === '' || name === 'admin') continue
    const body = { name, password, roles: [], type: 'user' }
    const { status } = await server.ask('PUT', `/_users/org.couchdb.user:${name}`, { body })
    if (status !== 201) throw new Error(`${name} cannot be registered: ${status}`)
  }
}

/** A database with a document, an attachment and a design document. */
export async function makeDatabase(server: TestServer, name: string): Promise<void> {
  await server.ask('PUT', `/${name}`)
  const data = Buffer.from('x').toString('base64')
  const file = { content_type: 'text/plain', data }
  await server.ask('PUT', `/${name}/doc`, { body: { _attachments: { file } } })
  const design = { language: 'query', _attachments: { x: file } }
  await server.ask('PUT', `/${name}/_design/d`, { body: design })
  const { status } = await server.ask('PUT', `/${name}/_security`, { body: SECURITY })
  if (status !== 200) throw new Error(`the security object cannot be set: ${status}`)
}
