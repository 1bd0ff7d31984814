/** Which requests are for the application: told from the raw target, before anything of it is parsed. */
import { applicationDatabase } from '../../base/product-names.ts'

const MAIN = `/+${applicationDatabase()}/+`

/** The API itself, and the few paths below the main database that never were documents. */
const TARGET = new RegExp(
  `^(?:/+api|${MAIN}login|${MAIN}password-reset|${MAIN}_design/+${applicationDatabase()}/+_rewrite/+(?:app_settings|update_settings))(?:[/?#]|$)`,
)

/** What clients ask before they know anything; no database can be meant, or hardly. */
const START = /^\/+(?:setup\/+poll|\.well-known\/+assetlinks\.json)(?:[?#]|$)/

/** People make their own databases; in every other way these are databases like any other. */
const PERSONAL = new RegExp(`^/+${applicationDatabase('user')}-[^/?#]+-meta/*(?:[?#]|$)`)

/** @param target with the product's other names replaced already */
export const isApplicationTarget = (target: string, method = 'GET'): boolean =>
  TARGET.test(target) || START.test(target) || (method === 'PUT' && PERSONAL.test(target))
