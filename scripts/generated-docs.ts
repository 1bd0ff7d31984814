/** Texts that are printed from tables in the code; a tidy test keeps the files in step (`npm run docs` writes them). */

import type { AccessRule } from '../src/app/access/access-rule.ts'
import { FAILURES, Failure, type FailureCode } from '../src/base/errors.ts'
import { defaultIni } from '../src/core/configuration/default-ini.ts'
import { DIALECTS } from '../src/core/dialect/dialect.ts'
import { presentFailure as presentAppFailure } from '../src/http/app/error-table.ts'
import { APP_ROUTES } from '../src/http/app/routes.ts'
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
    const app = presentAppFailure(new Failure(code))
    const cells = [`\`${code}\``, FAILURES[code], status, `\`${error}\``, app.status, app.error]
    return `| ${cells.join(' | ')} |`
  })
  return `# Errors

Printed from \`src/base/errors.ts\` and the two files \`error-table.ts\` by \`npm run docs\`.

Everything below \`http/\` fails with a code from this closed list. The columns after its meaning say how it looks on
CouchDB's wire: the status and the \`error\` member; \`reason\` says more. Some failures carry an \`error\` word of their
own, for instance those of functions in design documents. The last two columns are the application's wire,
\`{code, error, details?}\`; where a failure says more itself, that is its \`error\`.

| code | what it means | status | \`error\` | status under \`/api\` | \`error\` under \`/api\` |
|---|---|---|---|---|---|
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

## The application

Printed from \`src/http/app/routes.ts\`. The names are permissions, which \`settings.permissions\` gives to roles.

| path | method | who may |
|---|---|---|
${applicationRows().join('\n')}
`
}

const applicationRows = (): string[] =>
  APP_ROUTES.flatMap(({ path, methods, access }) =>
    Object.keys(methods).map(
      method => `| \`${path}\` | ${method} | ${whoMay(access[method] ?? {})} |`,
    ),
  )

function whoMay({ everybody, admin, online, all, any }: AccessRule): string {
  if (everybody === true) return 'everybody'
  const who =
    admin !== undefined ? 'server admins' : online === undefined ? 'users' : 'online users'
  const needs = [...(all ?? []), ...(any === undefined ? [] : [any.join(' or ')])]
  return needs.length === 0 ? who : `${who} with ${needs.join(' and ')}`
}

const WHO = {
  everybody: 'everybody',
  user: 'who is logged in',
  metrics: 'server admins and the role `_metrics`',
  lister: 'server admins, or everybody if `admin_only_all_dbs` is off',
  admin: 'server admins',
  database: 'members of the database',
} as const
