/**
 * PORT: a kind of index. The machinery in this folder follows a database, keeps rows in order and sums them up; a kind
 * says what the trees of an index are and which rows a document has in them. Map/reduce views are one kind, Mango's
 * JSON indexes and text indexes others. Which kind a design document asks for is told by its language.
 */
import type { StoreId } from '../../engine/engine.ts'
import type { StoredDocument } from '../database/stored-document.ts'
import type { DesignDocument } from '../document/design-document.ts'
import type { TreeDefinition } from './index-tree.ts'
import type { MappedRows } from './mapped-rows.ts'

export interface IndexKind {
  readonly name: string
  /** In the order of the rows of a document. */
  readonly trees: readonly TreeDefinition[]
  /** Design documents have rows like others. */
  readonly includesDesigns: boolean
  /**
   * The rows of each document, in the order of the documents, which are not deleted. Those that make no rows come back
   * without any. Runs outside any transaction, several times at once, and may take its time; it must not answer
   * from earlier batches.
   */
  rowsOf(documents: readonly StoredDocument[]): Promise<MappedRows>
}

/** What an index is made from. */
export interface IndexDefinition {
  /** Functions of different databases never share a process. */
  readonly databaseId: StoreId
  /** With its `_design/` in front. */
  readonly designId: string
  readonly design: DesignDocument
  readonly signature: string
}

/** Makes indexes of one kind. */
export interface IndexKindMaker {
  /** That of the design documents it is for. */
  readonly language: string
  /** 32 hex digits. Equal ones mean equal rows for equal documents, so such definitions share one index. */
  signatureOf(design: DesignDocument): string
  make(definition: IndexDefinition): IndexKind
}
