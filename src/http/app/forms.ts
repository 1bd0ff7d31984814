/** `/api/v1/forms`: which forms there are, one form, and whether an XForm can be used. */

import { formsIn } from '../../app/forms/form-definition.ts'
import { findForm, listForms } from '../../app/forms/form-documents.ts'
import type { ListedForm } from '../../app/forms/form-list.ts'
import { Failure } from '../../base/errors.ts'
import { type Reply, streamReply } from '../kit/reply.ts'
import { type AppExchange, BODY_BYTES_MAX } from './app-exchange.ts'

export async function getForms(exchange: AppExchange): Promise<Reply> {
  if (exchange.request.header('x-openrosa-version') !== undefined) return openRosaList(exchange)
  const { data, settings } = exchange.context
  const names: string[] = []
  for await (const { internalId } of listForms(data)) {
    if (internalId !== undefined) names.push(`${internalId}.xml`)
  }
  for (const code of Object.keys(formsIn(settings))) names.push(`${code}.json`)
  return exchange.json(names)
}

async function openRosaList({ application, request }: AppExchange): Promise<Reply> {
  const forms = await application.formList.collectForms()
  const items = forms.map(form => listItem(form, request.origin))
  const root = 'xforms xmlns="http://openrosa.org/xforms/xformsList"'
  const body = items.length === 0 ? `<${root}/>` : `<${root}>\n${items.join('')}</xforms>`
  return {
    status: 200,
    headers: ['Content-Type', 'text/xml; charset=utf-8', 'X-OpenRosa-Version', '1.0'],
    body: `<?xml version="1.0" encoding="UTF-8"?>\n${body}`,
  }
}

function listItem({ id, version, title, hash }: ListedForm, origin: string): string {
  const members: readonly (readonly [name: string, value: string | undefined])[] = [
    ['name', title],
    ['formID', id],
    ['version', version],
    ['hash', `md5:${hash}`],
    ['downloadUrl', `${origin}/api/v1/forms/${encodeURIComponent(id)}.xml`],
  ]
  const lines = members.flatMap(([name, value]) =>
    value === undefined ? [] : [`    <${name}>${escaped(value)}</${name}>\n`],
  )
  return `  <xform>\n${lines.join('')}  </xform>\n`
}

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

export async function getForm(exchange: AppExchange): Promise<Reply> {
  const pieces = exchange.params.get('form').split('.')
  const format = pieces.pop() as string
  const id = pieces.join('.')
  if (id === '') throw invalid(`Invalid form name (form="", format="${format}")`)
  if (format === 'json') return definition(exchange, id)
  if (format !== 'xml') throw invalid(`Invalid file format (format="${format}")`)
  const { data } = exchange.context
  const form = await findForm(data, id)
  if (form === undefined) throw missing(id, format)
  const database = await data.open()
  const { attachment } = await database.readAttachment(form.document._id, form.xform)
  const headers = ['Content-Type', attachment.contentType]
  const bytes = database.plainBytes(attachment)
  return streamReply(200, headers, bytes, await database.plainLength(attachment))
}

function definition(exchange: AppExchange, id: string): Reply {
  const forms = formsIn(exchange.context.settings)
  const code = id.toUpperCase()
  if (!Object.hasOwn(forms, code)) throw missing(id, 'json')
  return exchange.json(forms[code])
}

const invalid = (reason: string): Failure => new Failure('request_invalid', { reason })

const missing = (id: string, format: string): Failure =>
  new Failure('document_missing', { reason: `Form not found: ${id} (${format})` })

const XML_TYPES: ReadonlySet<string> = new Set([
  'application/xml',
  'text/xml',
  'text/plain',
  'text/csv',
])

export async function postFormValidation(exchange: AppExchange): Promise<Reply> {
  const { request, application } = exchange
  const bytes = await request.bytes({ limitBytes: BODY_BYTES_MAX })
  if (bytes.length === 0 || !XML_TYPES.has(request.contentType.toLowerCase())) {
    const reason = 'Error transforming xml. The request has no XML: send it as application/xml.'
    throw new Failure('form_invalid', { reason })
  }
  const charset = charsetOf(request.header('content-type'))
  await application.formTransformer.transform(bytes, charset)
  return exchange.json({ ok: true })
}

/** A charset in the header counts more than what the XML says about itself. */
const charsetOf = (contentType = ''): string | undefined =>
  /;\s*charset\s*=\s*"?([\w.:-]+)/i.exec(contentType)?.[1]
