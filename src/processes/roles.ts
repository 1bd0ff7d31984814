/** Which part of the process tree this process is: the primary starts the others with this variable set. */
export type Role = 'primary' | 'worker'

const VARIABLE = 'GURNEY_PROCESS_ROLE'

export const roleEnvironment = (role: Role): Record<string, string> => ({ [VARIABLE]: role })

export function roleOfThisProcess(): Role {
  return process.env[VARIABLE] === 'worker' ? 'worker' : 'primary'
}
