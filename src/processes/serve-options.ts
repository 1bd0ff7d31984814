/** What `gurney serve` was asked to do. */
export interface ServeOptions {
  readonly dataFolder: string
  readonly engine: string
  /** Of this node among those that share the engine; one that tells the machine, unless given. */
  readonly nodeName?: string
  readonly workerCount: number
  readonly admin?: { readonly name: string; readonly password: string }
  /** Configuration values given on the command line: [section, key, value]. They are never written to a file. */
  readonly overrides: readonly (readonly [section: string, key: string, value: string])[]
}
