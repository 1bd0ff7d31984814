/**
 * The whole of CouchDB's protocol, as a table of contents. Methods are in the order in which the 405 text names them;
 * `allow` says it where that text leaves one out. HEAD falls to GET. `access` says who may come at all: what more a
 * handler asks is asked by its operation.
 */
import {
  allDbs,
  deleteDatabase,
  getDatabase,
  getDbsInfo,
  postDbsInfo,
  putDatabase,
} from './databases.ts'
import {
  copyDocument,
  deleteDocument,
  getDocument,
  getLocalDocument,
  postDocument,
  putDocument,
} from './documents.ts'
import type { CouchRoute } from './exchange.ts'
import {
  deleteConfigValue,
  getClusterSetup,
  getConfig,
  getConfigSection,
  getConfigValue,
  incompleteNode,
  nodeName,
  postClusterSetup,
  putConfigValue,
  reloadConfig,
} from './node.ts'
import { getPrometheus, getStats, getSystem, getVersions } from './node-stats.ts'
import { activeTasks, favicon, membership, up, uuids, welcome } from './server-info.ts'
import { deleteSession, getSession, postSession } from './session.ts'

// biome-ignore format: a table of contents is read line by line
export const ROUTES: readonly CouchRoute[] = [
  // the server
  { path: '/', methods: { GET: welcome, HEAD: welcome }, access: 'everybody' },
  { path: '/favicon.ico', methods: { GET: favicon, HEAD: favicon }, access: 'everybody' },
  { path: '/_up', methods: { GET: up, HEAD: up }, access: 'everybody' },
  { path: '/_uuids', methods: { GET: uuids }, access: 'everybody' },
  { path: '/_all_dbs', methods: { GET: allDbs, HEAD: allDbs }, access: 'lister' },
  { path: '/_dbs_info', methods: { GET: getDbsInfo, HEAD: getDbsInfo, POST: postDbsInfo }, access: 'lister' },
  { path: '/_membership', methods: { GET: membership }, access: 'admin' },
  { path: '/_active_tasks', methods: { GET: activeTasks, HEAD: activeTasks }, access: 'admin' },
  { path: '/_cluster_setup', methods: { GET: getClusterSetup, POST: postClusterSetup }, access: 'admin' },
  { path: '/_session', methods: { GET: getSession, HEAD: getSession, POST: postSession, DELETE: deleteSession }, access: 'everybody', jsonErrorIs400: true },

  // this node
  { path: '/_node', methods: { GET: incompleteNode }, access: 'admin' },
  { path: '/_node/{node}', methods: { GET: nodeName }, access: 'admin' },
  { path: '/_node/{node}/_config', methods: { GET: getConfig }, access: 'admin' },
  { path: '/_node/{node}/_config/_reload', methods: { POST: reloadConfig }, access: 'admin' },
  { path: '/_node/{node}/_config/{section}', methods: { GET: getConfigSection }, access: 'admin' },
  { path: '/_node/{node}/_config/{section}/{key}', methods: { GET: getConfigValue, PUT: putConfigValue, DELETE: deleteConfigValue }, access: 'admin' },

  { path: '/_node/{node}/_stats', methods: { GET: getStats }, access: 'metrics' },
  { path: '/_node/{node}/_stats/{rest...}', methods: { GET: getStats }, access: 'metrics' },
  { path: '/_node/{node}/_system', methods: { GET: getSystem }, access: 'metrics' },
  { path: '/_node/{node}/_prometheus', methods: { GET: getPrometheus }, access: 'metrics' },
  { path: '/_node/{node}/_versions', methods: { GET: getVersions }, access: 'admin' },

  // a database
  { path: '/{db}', methods: { DELETE: deleteDatabase, GET: getDatabase, HEAD: getDatabase, POST: postDocument, PUT: putDatabase }, allow: 'DELETE,GET,HEAD,POST', access: 'database' },

  // a document
  { path: '/{db}/{id}', methods: { DELETE: deleteDocument, GET: getDocument, HEAD: getDocument, PUT: putDocument, COPY: copyDocument }, allow: 'DELETE,GET,HEAD,POST,PUT,COPY', access: 'database', jsonErrorIs400: true },
  { path: '/{db}/_design/{id}', methods: { DELETE: deleteDocument, GET: getDocument, HEAD: getDocument, PUT: putDocument, COPY: copyDocument }, allow: 'DELETE,GET,HEAD,POST,PUT,COPY', access: 'database', jsonErrorIs400: true },
  { path: '/{db}/_local/{id}', methods: { DELETE: deleteDocument, GET: getLocalDocument, HEAD: getLocalDocument, PUT: putDocument, COPY: copyDocument }, allow: 'DELETE,GET,HEAD,POST,PUT,COPY', access: 'database', jsonErrorIs400: true },
]
