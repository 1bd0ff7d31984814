/** How members of an account are read. Pure. */
import type { Document } from '../documents/document.ts'

/** Accounts of long ago have one id instead of a list. */
export const facilityIdsOf = (account: Document | undefined): string[] =>
  [account?.facility_id].flat().filter(id => typeof id === 'string' && id !== '') as string[]
