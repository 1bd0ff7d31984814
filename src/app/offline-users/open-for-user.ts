/**
 * Which operations somebody gets on a database of the application: admins all of them, editors' rules for those who work
 * online, and the filtered ones for those who work offline. Databases that are not the application's are none of its
 * business.
 */
import { applicationDatabase } from '../../base/product-names.ts'
import type { User } from '../../core/auth/user.ts'
import type { DatabaseParts } from '../../core/operations/database-operations.ts'
import type { DatabaseOperations } from '../../core/operations/operations.ts'
import { firewall } from '../access/access-rule.ts'
import { hasPermission, isAdmin, isOnline } from '../access/permissions.ts'
import type { Application } from '../application.ts'
import { userSettingsIds } from '../users/account-documents.ts'
import { EditorsOperations } from './editors-operations.ts'
import { FilteredOperations } from './filtered-operations.ts'
import { readOfflineAccount } from './offline-user.ts'
import { personalDatabase } from './personal-database.ts'
import { replicationDepth } from './replication-depth.ts'

/** Undefined where the plain operations are right. */
export function openForUser(
  application: Application,
  opened: DatabaseParts,
): DatabaseOperations | undefined {
  const { user } = opened
  const { name } = opened.database
  if (isAdmin(user) || user.name === null) return undefined
  if (name !== applicationDatabase()) {
    if (isOnline(user) || !name.startsWith(applicationDatabase(''))) return undefined
    if (name === personalDatabase(user.name)) return undefined
    throw firewall()
  }
  const mayEdit = async (editor: User): Promise<boolean> =>
    hasPermission(editor, await application.settings.current(), 'can_edit')
  if (isOnline(user)) return new EditorsOperations(opened, { mayEdit })
  const { name: userName, roles } = user
  return new FilteredOperations(opened, {
    mayEdit,
    settingsIds: userSettingsIds(userName),
    loadArea: async () => {
      const account = await readOfflineAccount(application.users, { name: userName, roles })
      const context = await application.context()
      return {
        account,
        depth: replicationDepth(roles, context.settings),
        scope: () => application.scopes.scopeOf(context, account),
      }
    },
  })
}
