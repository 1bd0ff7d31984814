/**
 * Accounts that follow from contacts: a contact that asks for one gets it, and one who takes the place of another gets an
 * account of his own like that of the other, which ends. Both log in with a link that comes as a message.
 *
 * The name of an account follows from the contact, so that doing it again finds what was made. What cannot be done is
 * told in the contact, under `user_for_contact`.
 */
import { isFailure } from '../../../base/errors.ts'
import { ContactTypes } from '../../contacts/contact-types.ts'
import { type Document, idIn, isObject, isText, type JsonObject } from '../../documents/document.ts'
import { notFound } from '../../documents/refusal.ts'
import { findAccount } from '../../users/account-documents.ts'
import { createUser } from '../../users/create-user.ts'
import { deleteUser } from '../../users/delete-user.ts'
import { readUser } from '../../users/update-user.ts'
import type { UserContext } from '../../users/user-context.ts'
import { stableUuid } from '../stable-id.ts'
import type { Transition } from '../transition.ts'
import type { Work } from '../work.ts'

const READY = 'READY'

const wishesOf = ({ stored }: Work): JsonObject =>
  isObject(stored.user_for_contact) ? stored.user_for_contact : {}

const wantsAccount = (work: Work): boolean => {
  const { create } = wishesOf(work)
  return create === true || create === 'true'
}

/** Accounts whose user another contact takes the place of. */
function replacements(work: Work): [name: string, contactId: string][] {
  const { replace } = wishesOf(work)
  return Object.entries(isObject(replace) ? replace : {}).flatMap(([name, wish]) => {
    const id =
      isObject(wish) && wish.status === READY ? idIn(wish.replacement_contact_id) : undefined
    return id === undefined ? [] : [[name, id]]
  })
}

export const createUserForContacts: Transition = {
  name: 'create_user_for_contacts',
  runsOnArrival: false,
  repeats: true,
  isFor: work =>
    ContactTypes.of(work.desk.settings).isPerson(work.stored) &&
    (wantsAccount(work) || replacements(work).length > 0),
  async run(work) {
    if (wantsAccount(work)) await create(work)
    for (const [name, contactId] of replacements(work)) await replace(work, name, contactId)
    return true
  },
}

async function create(work: Work): Promise<void> {
  const { stored } = work
  const { role, roles } = stored
  const result = await attempt(async () => {
    await ensureUser(work, stored, {
      roles: Array.isArray(roles) ? roles : [role].filter(isText),
      place: isObject(stored.parent) ? idIn(stored.parent) : undefined,
    })
  })
  setWish(work, { create: result.ok ? 'false' : 'error', ...result.told })
}

async function replace(work: Work, name: string, contactId: string): Promise<void> {
  const context = userContext(work)
  const result = await attempt(async () => {
    const contact = await work.desk.data.get(contactId)
    if (contact === undefined) throw notFound(`There is no contact ${contactId}.`)
    // Gone already: it was done before, and only not written down.
    if ((await findAccount(context.users, name)) === undefined) return
    const { settings } = await readUser(context, name)
    await ensureUser(work, contact, { roles: settings.roles, place: settings.facility_id })
    await deleteUser(context, name)
  })
  const before = wishesOf(work).replace as JsonObject
  const wish = before[name] as JsonObject
  const next = { ...wish, status: result.ok ? 'COMPLETE' : 'ERROR', ...result.told }
  setWish(work, { replace: { ...before, [name]: next } })
}

function setWish(work: Work, members: JsonObject): void {
  work.set({ user_for_contact: { ...wishesOf(work), ...members } })
}

type Result = { readonly ok: boolean; readonly told: JsonObject }

/** What the input lacks is told; failures of the server are not the contact's. */
async function attempt(work: () => Promise<void>): Promise<Result> {
  try {
    await work()
    return { ok: true, told: {} }
  } catch (thrown) {
    const isTheirs = isFailure(thrown, 'request_invalid') || isFailure(thrown, 'document_missing')
    if (!isTheirs) throw thrown
    return { ok: false, told: { error: thrown.detail.reason } }
  }
}

/** Makes the account, unless it is there. */
async function ensureUser(work: Work, contact: Document, like: JsonObject): Promise<void> {
  const context = userContext(work)
  const username = userNameFor(contact)
  const known = await findAccount(context.users, username)
  if (known?.contact_id === contact._id) return
  const place = Array.isArray(like.place) ? like.place[0] : like.place
  const user = {
    username,
    roles: like.roles,
    place,
    contact: contact._id,
    phone: contact.phone,
    fullname: contact.name,
    token_login: true,
  }
  await createUser(context, user, 'things')
}

/** The letters of the name and four digits that no two contacts of a name share. */
function userNameFor({ _id, name }: Document): string {
  const plain = String(name ?? '')
    .normalize('NFD')
    .toLowerCase()
    .replace(/\p{M}/gu, '')
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
  const digits = Number.parseInt(stableUuid(_id, 'user').slice(0, 8), 16) % 10_000
  return `${plain === '' ? 'user' : plain.slice(0, 100)}-${String(digits).padStart(4, '0')}`
}

function userContext({ desk }: Work): UserContext {
  const { app_url: url } = desk.settings.all
  const { data, settings, clock, users } = desk
  return { data, settings, clock, users, baseUrl: isText(url) ? url : '' }
}
