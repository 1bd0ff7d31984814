/** XForms become pages and models, whatever is in them; and whatever is in them, the server goes on. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, describe, it } from 'node:test'
import { FormTransformer } from '../../../../src/app/forms/transformer/form-transformer.ts'
import { isFailure } from '../../../../src/base/errors.ts'
import { xform } from '../../../support/xforms.ts'

const warnings: string[] = []
const transformer = new FormTransformer({ warn: message => warnings.push(message) })
after(() => transformer.close())

const page = async (xml: string): Promise<string> =>
  (await transformer.transform(Buffer.from(xml))).form
const model = async (xml: string): Promise<string> =>
  (await transformer.transform(Buffer.from(xml))).model

const refusal = (reason: RegExp) => (thrown: unknown) => {
  assert.ok(isFailure(thrown, 'form_invalid'), String(thrown))
  assert.match(String(thrown.detail.reason), reason)
  return true
}

const input = (label: string, more = ''): string =>
  `<input ref="/data/name"><label>${label}</label>${more}</input>`
const labelOf = async (label: string): Promise<string> => {
  const html = await page(xform({ body: input(label) }))
  return /<span lang="" class="question-label active">(.*?)<\/span><input/s.exec(html)?.[1] ?? html
}

describe('the page of a form', () => {
  it('is one element that names the form', async () => {
    const html = await page(xform({ id: 'visit', title: 'Visit & more' }))
    assert.match(
      html,
      /^<form autocomplete="off" novalidate="novalidate" class="or clearfix" dir="ltr" data-form-id="visit">/,
    )
    assert.match(html, /<section class="form-logo"><\/section>/)
    assert.match(html, /<h3 dir="auto" id="form-title">Visit &amp; more<\/h3>/)
    assert.match(html, /<\/form>$/)
    assert.doesNotMatch(html, /xmlns|<root/)
    assert.match(await page('<a/>'), /id="form-title">No Title</)
  })

  it('has questions with what binds them', async () => {
    const binds =
      '<bind nodeset="/data/name" type="string" required="true()" constraint=". &lt; 5" relevant="1"/>'
    const html = await page(xform({ binds }))
    assert.match(html, /<label class="question or-branch pre-init non-select ">/)
    assert.match(html, /<span class="required">\*<\/span>/)
    assert.match(html, /name="\/data\/name" data-required="true\(\)" data-constraint="\. &lt; 5"/)
    assert.match(html, /data-relevant="1" data-type-xml="string"/)
  })

  it('leaves the mark of what is required off notes', async () => {
    const binds = '<bind nodeset="/data/name" type="string" required="true()" readonly="true()"/>'
    assert.doesNotMatch(await page(xform({ binds })), /class="required"/)
  })

  it('renders types that nobody knows as text, and phone numbers as such', async () => {
    const typed = async (type: string): Promise<string | undefined> => {
      const html = await page(xform({ binds: `<bind nodeset="/data/name" type="${type}"/>` }))
      return /<input type="(\w+)"/.exec(html)?.[1]
    }
    assert.equal(await typed('wish'), 'text')
    assert.equal(await typed('tel'), 'tel')
    assert.equal(await typed('int'), 'number')
  })

  it('has classes for appearances, and more of them for choices', async () => {
    const select = (appearance: string): string =>
      xform({
        body: `<select1 ref="/data/name" appearance="${appearance}"><label>x</label>
          <item><label>a</label><value>1</value></item></select1>`,
      })
    assert.match(
      await page(select('Horizontal w2')),
      /class="question simple-select or-appearance-horizontal or-appearance-columns or-appearance-w2"/,
    )
    assert.match(
      await page(select('compact')),
      /class="question or-appearance-compact or-appearance-columns-pack or-appearance-no-buttons"/,
    )
    assert.match(
      await page(xform({ body: '<input ref="/data/name" appearance="multiline"/>' })),
      /class="question non-select or-appearance-multiline"[\s\S]*<textarea name="\/data\/name"/,
    )
  })

  it('has Markdown in labels and hints', async () => {
    assert.equal(await labelOf('**Name** of *all*'), '<strong>Name</strong> of <em>all</em>')
    assert.equal(await labelOf('# Title'), '<h1>Title</h1>')
    assert.equal(await labelOf('a &amp; b &lt;i&gt;c&lt;/i&gt;'), 'a &amp; b <i>c</i>')
    assert.equal(
      await labelOf('[x](http://a.b/c)'),
      '<a href="http://a.b/c" rel="noopener" target="_blank">x</a>',
    )
    const hint = await page(xform({ body: input('x', '<hint>_so_</hint>') }))
    assert.match(hint, /<span lang="" class="or-hint active"><em>so<\/em><\/span>/)
  })

  it('keeps values in labels, and links that depend on them', async () => {
    const value = '<span class="or-output" data-value="/data/name"> </span>'
    assert.equal(await labelOf('Hello *<output value="/data/name"/>*'), `Hello <em>${value}</em>`)
    assert.equal(
      await labelOf('[call](tel:<output value="/data/name"/>)'),
      '<a href="#" class="dynamic-url" rel="noopener" target="_blank">call' +
        `<span class="url hidden">tel:${value}</span></a>`,
    )
  })

  it('names media that are kept with the form', async () => {
    const binds = `<itext><translation lang="en"><text id="a"><value>x</value>
      <value form="image">jr://images/a.png</value></text></translation></itext>`
    const body = `<input ref="/data/name"><label ref="jr:itext('a')"/></input>`
    const html = await page(xform({ binds, body }))
    assert.match(html, /<img lang="en" class="active" data-media-src="images\/a\.png"/)
    assert.match(html, /<select id="form-languages" style="display:none;" data-default-lang="">/)
  })

  it('has the labels of choices from an instance', async () => {
    const choices = (nodeset: string): string =>
      xform({
        binds: `<itext><translation lang="en"><text id="o1"><value>One</value></text>
          <text id="o2"><value>Two</value></text></translation></itext>
          <instance id="opts"><root><item><label>o1</label><name>1</name></item>
          <item><label>o2</label><name>2</name></item></root></instance>`,
        body: `<select1 ref="/data/name"><label>L</label><itemset nodeset="${nodeset}">
          <value ref="name"/><label ref="jr:itext(label)"/></itemset></select1>`,
      })
    for (const nodeset of [
      "instance('opts')/root/item",
      "instance('opts')/root/item[name != '3'][1 = 1]",
      "randomize(instance('opts')/root/item)",
      "randomize(instance('opts')/root/item[name = 1], 42)",
    ]) {
      const html = await page(choices(nodeset))
      assert.match(html, /data-value-ref="name" data-label-type="itext" data-label-ref="label"/)
      assert.match(html, /data-itext-id="o1">One<[\s\S]*data-itext-id="o2">Two</, nodeset)
    }
  })

  it('puts actions on the questions they are for', async () => {
    const html = await page(
      xform({
        members: '<name/><age/>',
        binds: '<setvalue ref="/data/name" event="odk-instance-first-load" value="now()"/>',
        body: `${input('x')}<input ref="/data/age"><label>y</label>
          <setvalue ref="/data/name" event="xforms-value-changed" value="1"/></input>`,
      }),
    )
    assert.match(html, /<input type="text" name="\/data\/name"[^>]* data-setvalue="now\(\)"/)
    assert.match(html, /<input type="text" name="\/data\/age"[^>]*><input name="\/data\/name"/)
    assert.doesNotMatch(html, /<label class="setvalue/)
    const hidden = await page(
      xform({ binds: '<setvalue ref="/data/x" event="odk-instance-first-load" value="1"/>' }),
    )
    assert.match(hidden, /<label class="setvalue non-select "><input name="\/data\/x"/)
  })

  it('tells questions what the instance says for them', async () => {
    const members = '<name cht:unique_tel="it\'s &quot;so&quot; | 1"/>'
    assert.match(
      await page(xform({ members })),
      /<label class="question non-select " data-cht-unique_tel="it's &quot;so&quot; \| 1">/,
    )
  })
})

describe('the model of a form', () => {
  it('has its instances in order, without a wrapper', async () => {
    const text = await model(
      xform({ id: 'v', version: '1', binds: '<instance id="two"><x>é</x></instance>' }),
    )
    assert.match(text, /^<model>\s*<instance>\s*<data [^>]*id="v" version="1">\s*<name\/>/)
    assert.match(text, /<instance id="two">\s*<x [^>]*>é<\/x>\s*<\/instance>\s*<\/model>$/)
    assert.equal(await model('<a/>'), '<model/>')
  })

  it('keeps texts of CDATA', async () => {
    const text = await model(xform({ members: '<name><![CDATA[<b> & c]]></name>' }))
    assert.match(text, /<name>&lt;b&gt; &amp; c<\/name>/)
  })
})

describe('what a form says about itself', () => {
  it('is id, version and title', async () => {
    const of = (xml: string) => transformer.describe(Buffer.from(xml))
    assert.deepEqual(await of(xform({ id: 'a:b', version: '', title: 'T %20 é\n' })), {
      id: 'a:b',
      title: 'T %20 é\n',
      version: '',
    })
    assert.deepEqual(await of(xform({})), { id: 'data', title: '' })
    assert.deepEqual(await of('<a/>'), { id: '', title: '' })
  })

  it('is read in the encoding that it has', async () => {
    const latin = '<?xml version="1.0" encoding="iso-8859-1"?>'
    const wide = '\ufeff<?xml version="1.0" encoding="utf-16"?>'
    const body = xform({ id: 'é' }).replace(/^<\?xml.*?>/, '')
    for (const bytes of [
      Buffer.from(latin + body, 'latin1'),
      Buffer.from(wide + body, 'utf16le'),
      Buffer.from(body),
    ]) {
      assert.equal((await transformer.describe(bytes)).id, 'é')
    }
  })
})

describe('a form that is wrong', () => {
  const select = (appearance: string, item: string): string =>
    xform({
      binds: '<bind nodeset="/data/name" type="select"/>',
      body: `<select ref="/data/name" appearance="${appearance}"><label>x</label>
        <item><label>a</label>${item}</item></select>`,
    })
  const picker = (end: number): string =>
    xform({
      body: `<range ref="/data/name" appearance="picker" start="1" end="${end}" step="1"/>`,
    })
  const cases: readonly (readonly [what: string, xml: string, reason: RegExp])[] = [
    ['is not well-formed', '<a>', /^Error transforming xml\. [\s\S]*Premature end/],
    ['is nested too deeply', '<a>'.repeat(5000), /Excessive depth/],
    ['has values with spaces', select('minimal', '<value>a b</value>'), /contains spaces!/],
    [
      'has choices without values',
      select('minimal', ''),
      /WARNING: Select item found without a value![\s\S]*ERROR: Could not determine value/,
    ],
    ['has too many steps', picker(600), /ERROR: Exceed maximum iterations allowed\./],
    ['has a submission', xform({ binds: '<submission/>' }), /Submissions element/],
    ['declares a type', '<!DocType a><a/>', /^Form XML must not declare a DOCTYPE/],
    ['has another byte order and declares a type', '', /^Form XML must not declare a DOCTYPE/],
  ]
  for (const [what, xml, reason] of cases) {
    it(what, async () => {
      const wide = '\ufeff<?xml version="1.0" encoding="utf-16"?><!DOCTYPE a><a/>'
      const bytes = xml === '' ? Buffer.from(wide, 'utf16le') : Buffer.from(xml)
      await assert.rejects(transformer.transform(bytes), refusal(reason))
    })
  }

  it('is not the same as one that is large', async () => {
    assert.match(await page(picker(490)), /value="490"/)
    const groups = '<group>'.repeat(200) + '</group>'.repeat(200)
    assert.match(await page(xform({ body: groups })), /or-group/)
    const body = Array.from({ length: 500 }, (_, index) =>
      input(`**${index}**`).replace('/data/name', `/data/n${index}`),
    ).join('')
    assert.match(await page(xform({ body })), /<strong>499<\/strong>/)
  })

  it('cannot reach anything outside', async () => {
    let visits = 0
    const server = createServer((_, response) => {
      visits++
      response.end('<a/>')
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/x`
    try {
      const html = await page(`<?xml-stylesheet href="${url}" type="text/xsl"?>
        <a xmlns:xi="http://www.w3.org/2001/XInclude" xmlns:x="${url}"
          xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="${url} ${url}">
          <xi:include href="${url}"/><xi:include href="file:///etc/passwd" parse="text"/></a>`)
      assert.doesNotMatch(html, /root:/)
      assert.equal(visits, 0)
    } finally {
      server.close()
    }
  })
})

describe('the process that transforms', () => {
  it('runs without more rights than it needs', async () => {
    await page('<a/>')
    assert.deepEqual(warnings, [])
  })

  it('is the same for many, and replaced when it is killed', async () => {
    await page('<a/>')
    const first = transformer.processId as number
    await Promise.all(Array.from({ length: 10 }, () => page('<a/>')))
    assert.equal(transformer.processId, first)
    process.kill(first, 'SIGKILL')
    const results = await Promise.allSettled([page('<a/>'), page('<a/>')])
    assert.equal(results[1]?.status, 'fulfilled')
    assert.notEqual(transformer.processId, first)
  })

  it('is ended when a form takes too long, and the next form has another', async () => {
    const impatient = new FormTransformer({ warn: () => {}, timeoutMs: 400 })
    try {
      const slow = xform({ body: input(`${'*a '.repeat(300_000)}`) })
      await assert.rejects(
        impatient.transform(Buffer.from(slow)),
        refusal(/^Error transforming xml\. It takes too long\./),
      )
      assert.deepEqual(await impatient.describe(Buffer.from('<a/>')), { id: '', title: '' })
    } finally {
      await impatient.close()
    }
  })

  it('ends when nobody needs it', async () => {
    const brief = new FormTransformer({ warn: () => {}, idleMsMax: 1 })
    try {
      await brief.describe(Buffer.from('<a/>'))
      const pid = brief.processId as number
      while (isRunning(pid)) await new Promise(resolve => setTimeout(resolve, 10))
      assert.equal((await brief.describe(Buffer.from('<a/>'))).id, '')
    } finally {
      await brief.close()
    }
  })

  it('has a bounded line in front of it', async () => {
    const narrow = new FormTransformer({ warn: () => {}, waitersMax: 2 })
    try {
      const all = await Promise.allSettled(
        Array.from({ length: 4 }, () => narrow.describe(Buffer.from('<a/>'))),
      )
      const states = all.map(({ status }) => status)
      assert.deepEqual(states, ['fulfilled', 'fulfilled', 'rejected', 'rejected'])
      assert.ok(
        all.every(r => r.status === 'fulfilled' || isFailure(r.reason, 'service_unavailable')),
      )
    } finally {
      await narrow.close()
    }
  })

  it('can be Node where there is no Deno, and says so', async () => {
    const said: string[] = []
    const node = new FormTransformer({ warn: text => said.push(text), runtimes: ['node'] })
    try {
      const xml = Buffer.from(xform({ id: 'x' }))
      assert.deepEqual(await node.transform(xml), await transformer.transform(xml))
      assert.deepEqual(said, ['forms are transformed with more rights than needed'])
    } finally {
      await node.close()
    }
  })

  it('fails those who come when it is closed', async () => {
    const closed = new FormTransformer({ warn: () => {} })
    const waiting = closed.describe(Buffer.from('<a/>'))
    const ended = Promise.allSettled([waiting])
    await closed.close()
    await ended
    await assert.rejects(closed.describe(Buffer.from('<a/>')), thrown =>
      isFailure(thrown, 'service_unavailable'),
    )
  })
})

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
