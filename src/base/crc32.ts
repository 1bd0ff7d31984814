/**
 * The checksum of zlib and PNG, by which CouchDB spreads documents over shards. Node has it built in from 20.15
 * on only.
 */
const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1
  return value >>> 0
})

export function crc32(bytes: Uint8Array): number {
  let value = 0xffffffff
  for (const byte of bytes) value = (value >>> 8) ^ (TABLE[(value ^ byte) & 0xff] as number)
  return (value ^ 0xffffffff) >>> 0
}
