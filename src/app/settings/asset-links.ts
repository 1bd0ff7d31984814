/** Links to apps for phones, which phones ask for under a well-known path; undefined where none are configured. */
import { isObject } from '../documents/document.ts'
import type { Settings } from './settings.ts'

export function assetLinksOf({ all }: Settings): unknown {
  const { assetlinks } = all
  return isObject(assetlinks) || Array.isArray(assetlinks) ? assetlinks : undefined
}
