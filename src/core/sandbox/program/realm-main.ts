/**
 * Part of the program inside a sandbox process: one environment, that is a fresh global object with
 * the functions of one design document (or one view group) in it.
 *
 * Its face to the outer realm is four functions that take and give text only. No object crosses in
 * either direction, so no constructor of the outer realm is reachable from user code.
 */
import { makeCompile, makeRequire, type UserFunction } from './realm-compile.ts'
import {
  type DesignTools,
  makeFilterStep,
  makeFind,
  makeRewriteStep,
  makeShowStep,
  makeUpdateStep,
  makeValidateStep,
  makeViewFilterStep,
} from './realm-design.ts'
import { makeBrief, makeDescribe } from './realm-errors.ts'
import { type Exchange, type ListHelpers, makeListHelpers, makeListStep } from './realm-list.ts'
import { makeMime } from './realm-mime.ts'
import { defineGlobals, makeOutput, makeSum } from './realm-output.ts'
import { capturePrimordials, closeRealm, makeDeepFreeze } from './realm-primordials.ts'
import { makeMapStep, makeReduceStep, type Step } from './realm-views.ts'

export interface Realm {
  /** Takes the sources. Answers '' or the description of what is wrong with them. */
  readonly open: (kind: string, text: string) => string
  /** Prepares a request over several items. Answers '' or a description. */
  readonly begin: (operation: string, name: string, text: string) => string
  /** Does one item. An answer that begins with `!` is a description and ends the request. */
  readonly step: (index: number) => string
  readonly takeLog: () => string
}

export function realmMain(exchange: Exchange): Realm {
  const p = capturePrimordials()
  closeRealm()
  const output = makeOutput(p)
  const mime = makeMime(p)
  const listing = makeListHelpers(p, exchange)
  const describe = makeDescribe(p)
  const compile = makeCompile(p)
  const base = {
    p,
    output,
    describe,
    compile,
    mime,
    listing,
    brief: makeBrief(p),
    deepFreeze: makeDeepFreeze(p),
  }
  let requireFrom: (name: unknown) => unknown = makeRequire(p, {})
  defineGlobals(p, {
    emit: (key: unknown, value: unknown) => output.emit(key, value),
    log: (message: unknown) => output.log(message),
    send: (chunk: unknown) => output.send(chunk),
    sum: makeSum(p),
    toJSON: (value: unknown) => p.text(value),
    isArray: (value: unknown) => p.isArray(value),
    require: (name: unknown) => requireFrom(name),
    start: (response: unknown) => listing.start(response),
    getRow: () => listing.getRow(),
    provides: (type: unknown, make: unknown) => mime.provides(type, make),
    registerType: (...names: unknown[]) => p.apply(mime.registerType, undefined, names),
  })
  let sources: EnvironmentSources | undefined
  let step: Step = () => ''
  return p.freeze({
    open: (kind: string, text: string) => {
      try {
        const root = p.parse(text)
        const lib = kind === 'views' ? { views: { lib: (root as { lib: unknown }).lib } } : root
        requireFrom = makeRequire(p, lib)
        sources = openSources(base, kind, root)
        return ''
      } catch (thrown) {
        return describe(thrown)
      }
    },
    begin: (operation: string, name: string, text: string) => {
      try {
        step = chooseStep(sources as EnvironmentSources, operation, name, p.parse(text))
        return ''
      } catch (thrown) {
        return describe(thrown)
      }
    },
    step: (index: number) => {
      try {
        return step(index)
      } catch (thrown) {
        return `!${describe(thrown)}`
      }
    },
    takeLog: () => output.takeLog(),
  })
}

export interface EnvironmentSources {
  readonly maps: UserFunction[]
  readonly reduces: UserFunction[]
  readonly tools: DesignTools & { listing: ListHelpers }
}

export function openSources(
  base: Omit<DesignTools, 'ddoc' | 'find'> & { listing: ListHelpers },
  kind: string,
  root: unknown,
): EnvironmentSources {
  const { p, compile } = base
  const maps = p.list<UserFunction>()
  const reduces = p.list<UserFunction>()
  if (kind === 'views') {
    const group = root as { maps: string[]; reduces: string[] }
    for (let i = 0; i < group.maps.length; i++) maps[i] = compile(group.maps[i] as string)
    for (let i = 0; i < group.reduces.length; i++) reduces[i] = compile(group.reduces[i] as string)
  } else {
    base.deepFreeze(root)
  }
  const tools = { ...base, ddoc: root, find: makeFind(p, root, compile) }
  return p.freeze({ maps, reduces, tools })
}

export function chooseStep(
  sources: EnvironmentSources,
  operation: string,
  name: string,
  body: unknown,
): Step {
  const { tools, maps, reduces } = sources
  switch (operation) {
    case 'map':
      return makeMapStep(tools, maps, body as unknown[])
    case 'reduce':
      return makeReduceStep(tools, reduces, body as Parameters<typeof makeReduceStep>[2])
    case 'validate':
      return makeValidateStep(tools, body)
    case 'filter':
      return makeFilterStep(tools, name, body)
    case 'view-filter':
      return makeViewFilterStep(tools, name, body)
    case 'show':
      return makeShowStep(tools, name, body)
    case 'update':
      return makeUpdateStep(tools, name, body)
    case 'rewrite':
      return makeRewriteStep(tools, body)
    case 'list':
      return makeListStep(tools, name, body)
    default:
      return index => {
        const source = (body as string[])[index] as string
        try {
          tools.compile(source)
          return '\x1e'
        } catch (thrown) {
          return `\x15${tools.describe(thrown)}\x1e`
        }
      }
  }
}
