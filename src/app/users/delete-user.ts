/** Deleting a user: the account goes, the settings document stays and says so. Person, place and data are untouched. */
import { Failure } from '../../base/errors.ts'
import type { WriteOutcome } from '../documents/document-database.ts'
import { notFound } from '../documents/refusal.ts'
import { findAccount, findUserSettings } from './account-documents.ts'
import type { UserContext } from './user-context.ts'

/** What became of the account, then of the settings document where there is one. */
export async function deleteUser(
  { users, data, clock }: UserContext,
  name: string,
): Promise<readonly WriteOutcome[]> {
  const account = await findAccount(users, name)
  const settings = await findUserSettings(data, name)
  if (account === undefined) throw notFound('missing')
  const removed = await users.putMany([
    {
      _id: account._id,
      ...(account._rev === undefined ? {} : { _rev: account._rev }),
      _deleted: true,
    },
  ])
  if (removed[0]?.ok !== true) throw removed[0]?.failure ?? new Failure('unexpected')
  if (settings === undefined) return removed
  const marked = { ...settings, inactive: true, deletion_date: clock() }
  return [...removed, ...(await data.putMany([marked]))]
}
