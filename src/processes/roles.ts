/** Which part of the process tree this process is: the primary starts the others with this variable set. */
export type Role = 'primary' | ChildRole
export type ChildRole = 'worker' | 'replicator' | 'indexer' | 'background'

const CHILD_ROLES: readonly ChildRole[] = ['worker', 'replicator', 'indexer', 'background']

const VARIABLE = 'GURNEY_PROCESS_ROLE'

export const roleEnvironment = (role: Role): Record<string, string> => ({ [VARIABLE]: role })

export function roleOfThisProcess(): Role {
  const role = process.env[VARIABLE]
  return CHILD_ROLES.find(child => child === role) ?? 'primary'
}
