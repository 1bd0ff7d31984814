/** Which languages functions may be written in. Others are stored, but nothing of theirs can run. */
import { Failure } from '../../base/errors.ts'
import { DEFAULT_LANGUAGE } from '../document/design-document.ts'
import type { CachedDesign } from './design-cache.ts'

export function requireJavaScript({ document }: Pick<CachedDesign, 'document'>): void {
  const { language } = document
  if (language === DEFAULT_LANGUAGE) return
  throw new Failure('function_failed', { error: 'unknown_query_language', reason: language })
}
