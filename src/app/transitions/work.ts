/**
 * One document under work: as it is stored, and with the people and places around it. Transitions change it through here,
 * so both stay in step, and nothing is added twice: a message has an id made of the document and of why it is sent, and
 * is left out where a message of that id is there already.
 */
import {
  type Document,
  idIn,
  isObject,
  isSameJson,
  type JsonObject,
} from '../documents/document.ts'
import type { InfoDocument } from '../info-documents/info-document.ts'
import {
  generateMessage,
  type MessageSource,
  messageLocale,
  messageTask,
} from '../messages/generate-message.ts'
import { messagesOf, taskList, tasksOf } from '../messages/message-task.ts'
import { renderTemplate } from '../messages/template.ts'
import { DEFAULT_TEXTS } from './default-texts.ts'
import type { Desk } from './desk.ts'
import { stableUuid } from './stable-id.ts'

export interface RecordError {
  readonly code: string
  readonly message: string
}

export interface MessageOptions {
  /** Further names for the text. */
  readonly names?: JsonObject
  /** Further members of the task. */
  readonly members?: JsonObject
}

export class Work {
  readonly desk: Desk
  readonly info: InfoDocument
  readonly #before: Document
  #stored: Document
  #whole: JsonObject

  constructor(desk: Desk, stored: Document, whole: JsonObject, info: InfoDocument) {
    this.desk = desk
    this.info = info
    this.#before = stored
    this.#stored = stored
    this.#whole = whole
  }

  get id(): string {
    return this.#stored._id
  }

  /** As it is stored. */
  get stored(): Document {
    return this.#stored
  }

  /** With the people and places around it. */
  get whole(): JsonObject {
    return this.#whole
  }

  get fields(): JsonObject {
    return isObject(this.#stored.fields) ? this.#stored.fields : {}
  }

  get isRecord(): boolean {
    return this.#stored.type === 'data_record'
  }

  /** Of a report; undefined for everything else. */
  get form(): string | undefined {
    const { form } = this.#stored
    return this.isRecord && typeof form === 'string' && form !== '' ? form : undefined
  }

  /** Whom it is about: a person. */
  get patient(): JsonObject | undefined {
    return isObject(this.#whole.patient) ? this.#whole.patient : undefined
  }

  get place(): JsonObject | undefined {
    return isObject(this.#whole.place) ? this.#whole.place : undefined
  }

  get contact(): JsonObject | undefined {
    return isObject(this.#whole.contact) ? this.#whole.contact : undefined
  }

  get reportedMs(): number {
    const { reported_date: date } = this.#stored
    return typeof date === 'number' ? date : this.desk.clock()
  }

  get errors(): readonly RecordError[] {
    return Array.isArray(this.#stored.errors) ? (this.#stored.errors as RecordError[]) : []
  }

  get isChanged(): boolean {
    return this.#stored !== this.#before && !isSameJson(this.#stored, this.#before)
  }

  /** @param whole the same members with what is around them, where that is more */
  set(members: JsonObject, whole: JsonObject = members): void {
    this.#stored = { ...this.#stored, ...members }
    this.#whole = { ...this.#whole, ...whole }
  }

  setFields(fields: JsonObject): void {
    this.set({ fields: { ...this.fields, ...fields } })
  }

  /** Puts somebody around it. */
  setWhole(members: JsonObject): void {
    this.#whole = { ...this.#whole, ...members }
  }

  addError(error: RecordError): void {
    if (this.errors.some(({ code }) => code === error.code)) return
    this.set({ errors: [...this.errors, error] })
  }

  /** @param why tells this message from all others about the document */
  addMessage(source: MessageSource, why: string, { names, members }: MessageOptions = {}): void {
    const uuid = stableUuid(this.id, why)
    if (hasMessage(this.#stored, uuid)) return
    const kit = this.desk.messageKit(uuid)
    const message = generateMessage(kit, this.#whole, source, names)
    const task = messageTask(kit, this.desk.repeated, {
      record: this.#whole,
      message,
      ...(members === undefined ? {} : { more: members }),
    })
    this.set({ tasks: [...taskList(this.#stored.tasks), task] })
  }

  /** Where the text of a key is: in the translations, or ours where nobody has translated it. */
  textOf(key: string): MessageSource {
    const locale = messageLocale(this.#whole, this.desk.settings)
    if (this.desk.translations.find(key, locale) !== undefined) return { translation_key: key }
    const text = DEFAULT_TEXTS[key]
    return text === undefined ? { translation_key: key } : { message: text }
  }

  /** The text that a message would have. */
  render(source: MessageSource, names: JsonObject = {}): string {
    const { message } = generateMessage(this.desk.messageKit(''), this.#whole, source, names)
    if (message !== undefined) return message
    const { translation_key: key } = source
    return typeof key === 'string' ? renderTemplate(key, names) : ''
  }

  /** Changes another document together with this one. */
  changeOther(document: Document): void {
    this.desk.data.change(document, this.id)
  }

  /** The id of whoever sent it. */
  get contactId(): string | undefined {
    return idIn(this.#stored.contact)
  }
}

export const hasMessage = (document: Document, uuid: string): boolean =>
  tasksOf(document).some(task => messagesOf(task).some(message => message.uuid === uuid))
