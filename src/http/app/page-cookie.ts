/** Cookies that pages read: who is logged in, in which language. None of them opens a session. */
import type { HttpRequest } from '../kit/request.ts'

const YEAR_S = 365 * 24 * 60 * 60

/** @param value encoded already */
export const pageCookie = ({ isTls }: HttpRequest, name: string, value: string): string =>
  `${name}=${value}; Path=/; Max-Age=${YEAR_S}; SameSite=Lax${isTls ? '; Secure' : ''}`
