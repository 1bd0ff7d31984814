/**
 * Proxies in front of the server whose word counts: who the client is (`X-Forwarded-For`), whether it came over TLS
 * (`X-Forwarded-Proto`, `X-Forwarded-Ssl`) and which host it asked (`X-Forwarded-Host`).
 *
 * Anybody can send these headers, so they count only when the connection itself comes from a listed address; of a chain
 * of proxies the last address that is not listed is the client. Leaves to others: checking the configured list.
 */
import { BlockList, isIP } from 'node:net'

export type ReadHeader = (name: string) => string | undefined

export class TrustedProxies {
  readonly #list = new BlockList()
  readonly #isEmpty: boolean

  /** @param addresses single ones, or subnets such as `10.0.0.0/8` */
  constructor(addresses: readonly string[] = []) {
    this.#isEmpty = addresses.length === 0
    for (const each of addresses) {
      const [address = '', bits] = each.split('/')
      if (bits === undefined) this.#list.addAddress(address, familyOf(address))
      else this.#list.addSubnet(address, Number(bits), familyOf(address))
    }
  }

  has(address: string | undefined): boolean {
    if (this.#isEmpty || address === undefined || isIP(address) === 0) return false
    return this.#list.check(address, familyOf(address))
  }

  /** The address of the client, given that of the connection. */
  clientOf(address: string, header: ReadHeader): string {
    if (!this.has(address)) return address
    const hops = (header('x-forwarded-for') ?? '').split(',').map(bare).reverse()
    let client = address
    for (const hop of hops) {
      // What stands before something that is no address was written by nobody we know.
      if (isIP(hop) === 0) break
      client = hop
      if (!this.has(hop)) break
    }
    return client
  }

  /** Did the client come to the proxy over TLS? */
  saysTls(address: string | undefined, header: ReadHeader): boolean {
    if (!this.has(address)) return false
    const [proto = ''] = (header('x-forwarded-proto') ?? '').split(',')
    return proto.trim().toLowerCase() === 'https' || header('x-forwarded-ssl') === 'on'
  }

  /** The host the client asked for, if the proxy says it. */
  hostOf(address: string | undefined, header: ReadHeader): string | undefined {
    if (!this.has(address)) return undefined
    const host = header('x-forwarded-host')?.split(',')[0]?.trim()
    return host !== undefined && /^[\w.:[\]-]+$/.test(host) ? host : undefined
  }
}

export const NO_PROXIES = new TrustedProxies()

const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 6 ? 'ipv6' : 'ipv4')

/** Some proxies add a port, and put IPv6 addresses in brackets. */
function bare(hop: string): string {
  const text = hop.trim()
  const [, inBrackets] = /^\[([^\]]+)\](?::\d+)?$/.exec(text) ?? []
  if (inBrackets !== undefined) return inBrackets
  return /^[\d.]+:\d+$/.test(text) ? text.slice(0, text.indexOf(':')) : text
}
