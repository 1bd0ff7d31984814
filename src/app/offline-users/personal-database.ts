/**
 * Each user's own database, for what he has read and what his devices tell about themselves. Made when he first asks for
 * it; nobody else may use it.
 */
import { isFailure } from '../../base/errors.ts'
import { applicationDatabase } from '../../base/product-names.ts'
import type { ServerOperations } from '../../core/operations/operations.ts'
import { APPLICATION_USER, DocumentDatabase } from '../documents/document-database.ts'
import { type DesignDefinition, reducedView } from '../install/designs/map-function.ts'
import { ensureDesign } from '../install/install.ts'

const DESIGN: DesignDefinition = {
  name: applicationDatabase('user'),
  views: {
    read: reducedView(
      '_count',
      `
var parts = doc._id.split(':');
if (parts[0] === 'read' && parts.length > 2) emit(parts[1], null);
`,
    ),
  },
  validateUpdate: `function (newDoc) {
  if (newDoc._deleted && newDoc.purged) throw { forbidden: 'Purged documents should not be written to CouchDB!' };
}`,
}

/** Characters that no database name may have are written as their codes. */
export const personalDatabase = (userName: string): string => {
  const safe = userName.replace(/[^a-z0-9_$()+/-]/g, char => `(${char.charCodeAt(0)})`)
  return applicationDatabase(`user-${safe}-meta`)
}

/** Does nothing where it exists. */
export async function ensurePersonalDatabase(
  server: ServerOperations,
  userName: string,
  version: string,
): Promise<void> {
  const name = personalDatabase(userName)
  if ((await server.databaseInfo(name)) !== undefined) return
  try {
    await server.createDatabase(APPLICATION_USER, name, {})
  } catch (thrown) {
    if (!isFailure(thrown, 'database_exists')) throw thrown
  }
  const own = { names: [userName], roles: [] }
  const database = await server.open(APPLICATION_USER, name)
  await database.setSecurity(Buffer.from(JSON.stringify({ admins: own, members: own })))
  await ensureDesign(new DocumentDatabase(server, name), DESIGN, version)
}
