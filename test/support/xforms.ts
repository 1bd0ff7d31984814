/** XForms and documents that hold them. */
export interface XformParts {
  readonly id?: string
  readonly title?: string
  readonly version?: string
  /** Members of the main instance. */
  readonly members?: string
  /** Further parts of the model. */
  readonly binds?: string
  readonly body?: string
}

export function xform({ id, title, version, members, binds, body }: XformParts): string {
  const attribute = (name: string, value: string | undefined): string =>
    value === undefined ? '' : ` ${name}="${value}"`
  const text = title?.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
  return `<?xml version="1.0"?>
<h:html xmlns="http://www.w3.org/2002/xforms" xmlns:h="http://www.w3.org/1999/xhtml"
  xmlns:jr="http://openrosa.org/javarosa" xmlns:odk="http://www.opendatakit.org/xforms"
  xmlns:cht="https://communityhealthtoolkit.org">
  <h:head>
    ${text === undefined ? '' : `<h:title>${text}</h:title>`}
    <model>
      <instance>
        <data${attribute('id', id)}${attribute('version', version)}>${members ?? '<name/>'}</data>
      </instance>
      ${binds ?? '<bind nodeset="/data/name" type="string"/>'}
    </model>
  </h:head>
  <h:body>${body ?? '<input ref="/data/name"><label>Name</label></input>'}</h:body>
</h:html>
`
}

export interface FormDocumentParts {
  readonly internalId?: string
  readonly context?: object
  /** Of the attachment. */
  readonly name?: string
  readonly type?: string
}

export function formDocument(
  _id: string,
  xml: string,
  { internalId, context, name = 'xml', type = 'application/xml' }: FormDocumentParts,
): Record<string, unknown> {
  return {
    _id,
    type: 'form',
    ...(internalId === undefined ? {} : { internalId }),
    ...(context === undefined ? {} : { context }),
    _attachments: { [name]: { content_type: type, data: Buffer.from(xml).toString('base64') } },
  }
}
