/** Texts that are printed from tables in the code; a tidy test keeps the files in step (`npm run docs` writes them). */
import { FAILURES, Failure, type FailureCode } from '../src/base/errors.ts'
import { defaultIni } from '../src/core/configuration/default-ini.ts'
import { DIALECTS } from '../src/core/dialect/dialect.ts'
import { presentFailure } from '../src/http/couch/error-table.ts'
import { ROUTES } from '../src/http/couch/routes.ts'

export function generatedDocs(): Record<string, string> {
  return {
    'etc/default.ini': defaultIni(),
    'docs/errors.md': errorsPage(),
    'docs/routes.md': routesPage(),
  }
}

function errorsPage(): string {
  const rows = (Object.keys(FAILURES) as FailureCode[]).map(code => {
    const { status, error } = presentFailure(new Failure(code), DIALECTS.couchdb)
    return `| \`${code}\` | ${FAILURES[code]} | ${status} | \`${error}\` |`
  })
  return `# Errors

Printed from \`src/base/errors.ts\` and \`src/http/couch/error-table.ts\` by \`npm run docs\`.

Everything below \`http/\` fails with a code from this closed list. The last two columns say how it looks on
CouchDB's wire: the status and the \`error\` member; \`reason\` says more. Some failures carry an \`error\` word of their
own, for instance those of functions in design documents.

| code | what it means | status | \`error\` |
|---|---|---|---|
${rows.join('\n')}
`
}

function routesPage(): string {
  const rows = ROUTES.map(route => {
    const methods = Object.keys(route.methods).join(', ')
    return `| \`${route.path}\` | ${methods} | ${WHO[route.access]} |`
  })
  return `# Routes

Printed from \`src/http/couch/routes.ts\` by \`npm run docs\`. HEAD is answered wherever GET is. Who "may come" is what it
takes to get past the door; operations may ask for more (design documents and security objects, for instance).

| path | methods | who may come |
|---|---|---|
${rows.join('\n')}
`
}

const WHO = {
  everybody: 'everybody',
  user: 'who is logged in',
  metrics: 'server admins and the role `_metrics`',
  lister: 'server admins, or everybody if `admin_only_all_dbs` is off',
  admin: 'server admins',
  database: 'members of the database',
} as const
