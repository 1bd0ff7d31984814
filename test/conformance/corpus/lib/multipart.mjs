// multipart encode / parse (enough for related, mixed and form-data)
export function boundaryOf(ctype) {
  const m = /boundary=(?:"([^"]+)"|([^;\s]+))/i.exec(ctype || '')
  return m ? (m[1] ?? m[2]) : null
}

export function parseMultipart(buf, boundary) {
  const delim = Buffer.from('--' + boundary)
  const parts = []
  let pos = buf.indexOf(delim)
  while (pos >= 0) {
    let p = pos + delim.length
    if (buf.slice(p, p + 2).toString() === '--') break
    while (p < buf.length && buf[p] !== 10) p++
    p++
    const next = buf.indexOf(delim, p)
    const end = next < 0 ? buf.length : next
    let chunk = buf.slice(p, end)
    if (chunk.length >= 2 && chunk[chunk.length - 2] === 13 && chunk[chunk.length - 1] === 10)
      chunk = chunk.slice(0, -2)
    else if (chunk.length && chunk[chunk.length - 1] === 10) chunk = chunk.slice(0, -1)
    let hend = chunk.indexOf('\r\n\r\n')
    const headers = {}
    let body
    if (chunk.slice(0, 2).toString() === '\r\n') {
      body = chunk.slice(2)
      hend = 0
    } else if (hend >= 0) {
      for (const line of chunk.slice(0, hend).toString('latin1').split('\r\n')) {
        const c = line.indexOf(':')
        if (c > 0) headers[line.slice(0, c).trim().toLowerCase()] = line.slice(c + 1).trim()
      }
      body = chunk.slice(hend + 4)
    } else body = chunk
    parts.push({ headers, body })
    pos = next
  }
  return parts
}

export function encodeMultipart({ boundary, parts, preamble }, encodeJson) {
  const out = []
  if (preamble) out.push(Buffer.from(preamble + '\r\n'))
  for (const p of parts) {
    out.push(Buffer.from(`--${boundary}\r\n`))
    for (const [k, v] of Object.entries(p.headers || {})) out.push(Buffer.from(`${k}: ${v}\r\n`))
    out.push(Buffer.from('\r\n'))
    if (p.json !== undefined) out.push(Buffer.from(encodeJson(p.json)))
    else if (p.base64 !== undefined) out.push(Buffer.from(p.base64, 'base64'))
    else out.push(Buffer.from(p.text ?? ''))
    out.push(Buffer.from('\r\n'))
  }
  out.push(Buffer.from(`--${boundary}--\r\n`))
  return Buffer.concat(out)
}
