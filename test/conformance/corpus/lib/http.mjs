// Raw HTTP client on node:http (no default Accept, any method, any path text).
import http from 'node:http'

export function splitBase(url) {
  const u = new URL(url)
  const admin = u.username
    ? { user: decodeURIComponent(u.username), password: decodeURIComponent(u.password) }
    : null
  return {
    host: u.hostname,
    port: Number(u.port || 80),
    origin: `${u.protocol}//${u.host}`,
    hostport: u.host,
    prefix: u.pathname.replace(/\/$/, ''),
    admin,
  }
}

// opts: { timeout, abortAfter }  abortAfter: ms after the response began; the body so far is kept
export function send(target, { method, path, headers, body }, opts = {}) {
  return new Promise((resolve, reject) => {
    const started = Date.now()
    const hs = { ...headers }
    if (
      body &&
      body.length &&
      !Object.keys(hs).some(k => /^(content-length|transfer-encoding)$/i.test(k))
    ) {
      hs['Content-Length'] = body.length
    }
    let req
    try {
      req = http.request({
        host: target.host,
        port: target.port,
        method,
        path: target.prefix + path,
        headers: hs,
        agent: false,
        insecureHTTPParser: true,
      })
    } catch (e) {
      reject(e)
      return
    }
    let done = false
    const finish = (f, v) => {
      if (!done) {
        done = true
        clearTimeout(t1)
        clearTimeout(t2)
        f(v)
      }
    }
    let t2
    const t1 = setTimeout(() => {
      finish(reject, new Error(`timeout after ${opts.timeout} ms`))
      req.destroy()
    }, opts.timeout || 30000)
    let began = null
    // a server that breaks off a response it has begun: keep what came
    req.on('error', e =>
      began ? finish(resolve, { ...began(true), cut: true }) : finish(reject, e),
    )
    req.on('response', res => {
      const chunks = []
      const result = aborted => ({
        status: res.statusCode,
        headers: res.headers,
        rawHeaders: res.rawHeaders,
        body: Buffer.concat(chunks),
        aborted,
        ms: Date.now() - started,
      })
      began = result
      if (opts.abortAfter) {
        t2 = setTimeout(() => {
          finish(resolve, result(true))
          req.destroy()
        }, opts.abortAfter)
      }
      res.on('data', c => chunks.push(c))
      res.on('end', () => finish(resolve, result(false)))
      res.on('aborted', () => finish(resolve, { ...result(true), cut: true }))
      res.on('error', () => finish(resolve, { ...result(true), cut: true }))
    })
    // some streaming responses send no headers until the first byte
    if (opts.abortAfter) {
      setTimeout(() => {
        if (!done) {
          finish(resolve, {
            status: 0,
            headers: {},
            rawHeaders: [],
            body: Buffer.alloc(0),
            aborted: true,
            ms: Date.now() - started,
          })
          req.destroy()
        }
      }, opts.abortAfter + 5000).unref()
    }
    if (body && body.length) req.write(body)
    req.end()
  })
}
