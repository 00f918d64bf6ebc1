-- MySQL dump 10.13  Distrib 5.1.73, for debian-linux-gnu (x86_64)
/*!40101 SET NAMES utf8 */;

DROP TABLE IF EXISTS `cdef`;
CREATE TABLE `cdef` (
  `id` varchar(255) NOT NULL DEFAULT '',
  `hash` varchar(255) NOT NULL DEFAULT '',
  `name` varchar(255) NOT NULL DEFAULT '',
  KEY `first` (`id`)
) ENGINE=MyISAM DEFAULT CHARSET=latin1;
LOCK TABLES `cdef` WRITE;
INSERT INTO `cdef` VALUES (3,'x','Turn Bytes into Bits'),
(12,'x','Total');
UNLOCK TABLES;

DROP TABLE IF EXISTS `cdef_items`;
CREATE TABLE `cdef_items` (
  `id` varchar(255) NOT NULL DEFAULT '',
  `hash` varchar(255) NOT NULL DEFAULT '',
  `cdef_id` varchar(255) NOT NULL DEFAULT '',
  `sequence` varchar(255) NOT NULL DEFAULT '',
  `type` varchar(255) NOT NULL DEFAULT '',
  `value` varchar(255) NOT NULL DEFAULT '',
  KEY `first` (`id`)
) ENGINE=MyISAM DEFAULT CHARSET=latin1;
LOCK TABLES `cdef_items` WRITE;
INSERT INTO `cdef_items` VALUES (7,'x',3,1,4,'CURRENT_DATA_SOURCE'),
(8,'x',3,3,2,'3'),
(9,'x',3,2,6,'8'),
(16,'x',12,1,4,'ALL_DATA_SOURCES_NODUPS');
UNLOCK TABLES;

DROP TABLE IF EXISTS `colors`;
CREATE TABLE `colors` (
  `id` varchar(255) NOT NULL DEFAULT '',
  `hex` varchar(255) NOT NULL DEFAULT '',
  KEY `first` (`id`)
) ENGINE=MyISAM DEFAULT CHARSET=latin1;
LOCK TABLES `colors` WRITE;
INSERT INTO `colors` VALUES (89,'00CF00'),
(39,'002A97');
UNLOCK TABLES;

DROP TABLE IF EXISTS `data_input`;
CREATE TABLE `data_input` (
  `id` varchar(255) NOT NULL DEFAULT '',
  `hash` varchar(255) NOT NULL DEFAULT '',
  `name` varchar(255) NOT NULL DEFAULT '',
  `input_string` varchar(255) NOT NULL DEFAULT '',
  `type_id` varchar(255) NOT NULL DEFAULT '',
  KEY `first` (`id`)
) ENGINE=MyISAM DEFAULT CHARSET=latin1;
LOCK TABLES `data_input` WRITE;
INSERT INTO `data_input` VALUES (1,'x','Get SNMP Data','',2),
(2,'x','Get SNMP Data (Indexed)','',3),
(5,'x','Load','perl <path_cacti>/scripts/load.pl <ip> <port> <minutes> <passwd>',1),
(6,'x','With','x <community>',1);
UNLOCK TABLES;

DROP TABLE IF EXISTS `data_input_data`;
CREATE TABLE `data_input_data` (
  `data_input_field_id` varchar(255) NOT NULL DEFAULT '',
  `data_template_data_id` varchar(255) NOT NULL DEFAULT '',
  `t_value` varchar(255) NOT NULL DEFAULT '',
  `value` varchar(255) NOT NULL DEFAULT '',
  KEY `first` (`data_input_field_id`)
) ENGINE=MyISAM DEFAULT CHARSET=latin1;
LOCK TABLES `data_input_data` WRITE;
INSERT INTO `data_input_data` VALUES (22,3,'','15'),
(21,3,'','secret-1'),
(26,3,'','secret-2'),
(26,15,'','secret-3'),
(14,11,'','1'),
(14,12,'','2'),
(6,13,'','.1.3.6.1.4.1.9.2.1.58.0'),
(6,14,'','.1.3.6.1.2.1.1.3.0'),
(21,15,'','secret-4');
UNLOCK TABLES;

DROP TABLE IF EXISTS `data_input_fields`;
CREATE TABLE `data_input_fields` (
  `id` varchar(255) NOT NULL DEFAULT '',
  `hash` varchar(255) NOT NULL DEFAULT '',
  `data_input_id` varchar(255) NOT NULL DEFAULT '',
  `name` varchar(255) NOT NULL DEFAULT '',
  `data_name` varchar(255) NOT NULL DEFAULT '',
  `input_output` varchar(255) NOT NULL DEFAULT '',
  `update_rra` varchar(255) NOT NULL DEFAULT '',
  `sequence` varchar(255) NOT NULL DEFAULT '',
  `type_code` varchar(255) NOT NULL DEFAULT '',
  KEY `first` (`id`)
) ENGINE=MyISAM DEFAULT CHARSET=latin1;
LOCK TABLES `data_input_fields` WRITE;
INSERT INTO `data_input_fields` VALUES (6,'x',1,'OID','oid','in','',0,'snmp_oid'),
(14,'x',2,'Output','output_type','in','',0,'output_type'),
(20,'x',5,'ip','ip','in','',0,'hostname'),
(21,'x',5,'port','port','in','',0,'snmp_community'),
(22,'x',5,'min','minutes','in','',0,''),
(23,'x',5,'1','one','out','on',0,''),
(24,'x',5,'5','five','out','on',0,''),
(25,'x',5,'15','fifteen','out','on',0,''),
(26,'x',5,'pw','passwd','in','',0,'');
UNLOCK TABLES;

DROP TABLE IF EXISTS `data_local`;
CREATE TABLE `data_local` (
  `id` varchar(255) NOT NULL DEFAULT '',
  `data_template_id` varchar(255) NOT NULL DEFAULT '',
  `host_id` varchar(255) NOT NULL DEFAULT '',
  `snmp_query_id` varchar(255) NOT NULL DEFAULT '',
  `snmp_index` varchar(255) NOT NULL DEFAULT '',
  KEY `first` (`id`)
) ENGINE=MyISAM DEFAULT CHARSET=latin1;
LOCK TABLES `data_local` WRITE;
INSERT INTO `data_local` VALUES (1,1,1,1,'1'),
(2,1,1,1,'2'),
(3,2,1,0,''),
(4,2,1,0,''),
(5,3,1,0,''),
(6,3,77,0,'');
UNLOCK TABLES;

DROP TABLE IF EXISTS `data_template`;
CREATE TABLE `data_template` (
  `id` varchar(255) NOT NULL DEFAULT '',
  `hash` varchar(255) NOT NULL DEFAULT '',
  `name` varchar(255) NOT NULL DEFAULT '',
  KEY `first` (`id`)
) ENGINE=MyISAM DEFAULT CHARSET=latin1;
LOCK TABLES `data_template` WRITE;
INSERT INTO `data_template` VALUES (1,'x','Interface - Traffic'),
(2,'x','SNMP - Generic OID'),
(3,'x','Load'),
(4,'x','Mystery');
UNLOCK TABLES;

DROP TABLE IF EXISTS `data_template_data`;
CREATE TABLE `data_template_data` (
  `id` varchar(255) NOT NULL DEFAULT '',
  `local_data_template_data_id` varchar(255) NOT NULL DEFAULT '',
  `local_data_id` varchar(255) NOT NULL DEFAULT '',
  `data_template_id` varchar(255) NOT NULL DEFAULT '',
  `data_input_id` varchar(255) NOT NULL DEFAULT '',
  `t_name` varchar(255) NOT NULL DEFAULT '',
  `name` varchar(255) NOT NULL DEFAULT '',
  `name_cache` varchar(255) NOT NULL DEFAULT '',
  `data_source_path` varchar(255) NOT NULL DEFAULT '',
  `t_active` varchar(255) NOT NULL DEFAULT '',
  `active` varchar(255) NOT NULL DEFAULT '',
  `t_rrd_step` varchar(255) NOT NULL DEFAULT '',
  `rrd_step` varchar(255) NOT NULL DEFAULT '',
  `t_rra_id` varchar(255) NOT NULL DEFAULT '',
  KEY `first` (`id`)
) ENGINE=MyISAM DEFAULT CHARSET=latin1;
LOCK TABLES `data_template_data` WRITE;
INSERT INTO `data_template_data` VALUES (1,0,0,1,2,'','|host_description| - Traffic - |query_ifName|','',NULL,'','on','',300,''),
(2,0,0,2,1,'','|host_description| - OID','',NULL,'','on','',300,''),
(3,0,0,3,5,'','|host_description| - Load','',NULL,'','on','',300,''),
(4,0,0,4,2,'','x','',NULL,'','on','',300,''),
(11,1,1,1,2,'','','','<path_rra>/edge1_traffic_in_1.rrd','','on','',300,''),
(12,1,2,1,2,'','','','<path_rra>/edge1_traffic_in_2.rrd','','on','',300,''),
(13,2,3,2,1,'','','','<path_rra>/edge1_oid_3.rrd','','on','',300,''),
(14,2,4,2,1,'','','','<path_rra>/edge1_oid_4.rrd','','','',300,''),
(15,3,5,3,5,'','','','<path_rra>/edge1_load_5.rrd','','on','',300,''),
(16,3,6,3,5,'','','','<path_rra>/gone_7.rrd','','on','',300,'');
UNLOCK TABLES;

DROP TABLE IF EXISTS `data_template_data_rra`;
CREATE TABLE `data_template_data_rra` (
  `data_template_data_id` varchar(255) NOT NULL DEFAULT '',
  `rra_id` varchar(255) NOT NULL DEFAULT '',
  KEY `first` (`data_template_data_id`)
) ENGINE=MyISAM DEFAULT CHARSET=latin1;
LOCK TABLES `data_template_data_rra` WRITE;
INSERT INTO `data_template_data_rra` VALUES (1,1),
(1,2),
(2,1),
(2,2),
(3,1),
(3,2),
(4,1),
(4,2);
UNLOCK TABLES;

DROP TABLE IF EXISTS `data_template_rrd`;
CREATE TABLE `data_template_rrd` (
  `id` varchar(255) NOT NULL DEFAULT '',
  `hash` varchar(255) NOT NULL DEFAULT '',
  `local_data_template_rrd_id` varchar(255) NOT NULL DEFAULT '',
  `local_data_id` varchar(255) NOT NULL DEFAULT '',
  `data_template_id` varchar(255) NOT NULL DEFAULT '',
  `t_rrd_maximum` varchar(255) NOT NULL DEFAULT '',
  `rrd_maximum` varchar(255) NOT NULL DEFAULT '',
  `t_rrd_minimum` varchar(255) NOT NULL DEFAULT '',
  `rrd_minimum` varchar(255) NOT NULL DEFAULT '',
  `t_rrd_heartbeat` varchar(255) NOT NULL DEFAULT '',
  `rrd_heartbeat` varchar(255) NOT NULL DEFAULT '',
  `t_data_source_type_id` varchar(255) NOT NULL DEFAULT '',
  `data_source_type_id` varchar(255) NOT NULL DEFAULT '',
  `t_data_source_name` varchar(255) NOT NULL DEFAULT '',
  `data_source_name` varchar(255) NOT NULL DEFAULT '',
  `t_data_input_field_id` varchar(255) NOT NULL DEFAULT '',
  `data_input_field_id` varchar(255) NOT NULL DEFAULT '',
  KEY `first` (`id`)
) ENGINE=MyISAM DEFAULT CHARSET=latin1;
LOCK TABLES `data_template_rrd` WRITE;
INSERT INTO `data_template_rrd` VALUES (1,'x',0,0,1,'','10000000','','0','',600,'',2,'','traffic_in','',0),
(2,'x',0,0,1,'','10000000','','0','',600,'',2,'','traffic_out','',0),
(3,'x',0,0,2,'','0','','U','',600,'',1,'','snmp_oid','',0),
(4,'x',0,0,3,'','U','','0','',600,'',1,'','one','',23),
(5,'x',0,0,3,'','U','','0','',600,'',1,'','five','',24),
(6,'x',0,0,3,'','U','','0','',600,'',1,'','fifteen','',25),
(7,'x',0,0,4,'','U','','0','',600,'',1,'','mystery','',0),
(11,'',1,1,1,'','','','','',600,'',2,'','traffic_in','',0),
(12,'',2,1,1,'','','','','',600,'',2,'','traffic_out','',0),
(13,'',1,2,1,'','','','','',600,'',2,'','traffic_in','',0),
(14,'',2,2,1,'','','','','',600,'',2,'','traffic_out','',0),
(15,'',3,3,2,'','','','','',600,'',1,'','snmp_oid','',0),
(16,'',3,4,2,'','','','','',600,'',1,'','snmp_oid','',0),
(17,'',4,5,3,'','','','','',600,'',1,'','one','',0),
(18,'',5,5,3,'','','','','',600,'',1,'','five','',0),
(19,'',6,5,3,'','','','','',600,'',1,'','fifteen','',0);
UNLOCK TABLES;

DROP TABLE IF EXISTS `graph_local`;
CREATE TABLE `graph_local` (
  `id` varchar(255) NOT NULL DEFAULT '',
  `graph_template_id` varchar(255) NOT NULL DEFAULT '',
  `host_id` varchar(255) NOT NULL DEFAULT '',
  `snmp_query_id` varchar(255) NOT NULL DEFAULT '',
  `snmp_index` varchar(255) NOT NULL DEFAULT '',
  KEY `first` (`id`)
) ENGINE=MyISAM DEFAULT CHARSET=latin1;
LOCK TABLES `graph_local` WRITE;
INSERT INTO `graph_local` VALUES (1,2,1,1,'1'),
(2,2,1,1,'2'),
(3,3,1,0,''),
(4,0,0,0,'');
UNLOCK TABLES;

DROP TABLE IF EXISTS `graph_templates`;
CREATE TABLE `graph_templates` (
  `id` varchar(255) NOT NULL DEFAULT '',
  `hash` varchar(255) NOT NULL DEFAULT '',
  `name` varchar(255) NOT NULL DEFAULT '',
  KEY `first` (`id`)
) ENGINE=MyISAM DEFAULT CHARSET=latin1;
LOCK TABLES `graph_templates` WRITE;
INSERT INTO `graph_templates` VALUES (2,'x','Interface - Traffic (bits/sec)'),
(3,'x','Load');
UNLOCK TABLES;

DROP TABLE IF EXISTS `graph_templates_gprint`;
CREATE TABLE `graph_templates_gprint` (
  `id` varchar(255) NOT NULL DEFAULT '',
  `hash` varchar(255) NOT NULL DEFAULT '',
  `name` varchar(255) NOT NULL DEFAULT '',
  `gprint_text` varchar(255) NOT NULL DEFAULT '',
  KEY `first` (`id`)
) ENGINE=MyISAM DEFAULT CHARSET=latin1;
LOCK TABLES `graph_templates_gprint` WRITE;
INSERT INTO `graph_templates_gprint` VALUES (2,'x','Normal','%8.2lf %s');
UNLOCK TABLES;

DROP TABLE IF EXISTS `graph_templates_graph`;
CREATE TABLE `graph_templates_graph` (
  `id` varchar(255) NOT NULL DEFAULT '',
  `local_graph_template_graph_id` varchar(255) NOT NULL DEFAULT '',
  `local_graph_id` varchar(255) NOT NULL DEFAULT '',
  `graph_template_id` varchar(255) NOT NULL DEFAULT '',
  `t_title` varchar(255) NOT NULL DEFAULT '',
  `title` varchar(255) NOT NULL DEFAULT '',
  `title_cache` varchar(255) NOT NULL DEFAULT '',
  `height` varchar(255) NOT NULL DEFAULT '',
  `width` varchar(255) NOT NULL DEFAULT '',
  `upper_limit` varchar(255) NOT NULL DEFAULT '',
  `lower_limit` varchar(255) NOT NULL DEFAULT '',
  `vertical_label` varchar(255) NOT NULL DEFAULT '',
  `auto_scale_log` varchar(255) NOT NULL DEFAULT '',
  `auto_scale_rigid` varchar(255) NOT NULL DEFAULT '',
  `base_value` varchar(255) NOT NULL DEFAULT '',
  `unit_value` varchar(255) NOT NULL DEFAULT '',
  `unit_exponent_value` varchar(255) NOT NULL DEFAULT '',
  KEY `first` (`id`)
) ENGINE=MyISAM DEFAULT CHARSET=latin1;
LOCK TABLES `graph_templates_graph` WRITE;
INSERT INTO `graph_templates_graph` VALUES (1,0,0,2,'','|host_description| - Traffic - |query_ifName|','',120,500,'100','0','bits per second','','',1000,'',''),
(2,0,0,3,'','|host_description| - Load','',120,500,'100','0','load','','',1000,'',''),
(11,1,1,2,'','|host_description| - Traffic - |query_ifName|','edge-1 - Traffic - Gi0/1',120,500,'100','0','bits per second','','',1000,'',''),
(12,1,2,2,'on','|host_description| - |query_ifAlias|, by hand','x',120,500,'100','0','bits per second','','',1000,'',''),
(13,2,3,3,'','|host_description| - Load','',120,500,'100','0','load','','',1000,'',''),
(14,0,4,0,'','By hand','By hand',120,500,'100','0','x','','',1000,'','');
UNLOCK TABLES;

DROP TABLE IF EXISTS `graph_templates_item`;
CREATE TABLE `graph_templates_item` (
  `id` varchar(255) NOT NULL DEFAULT '',
  `hash` varchar(255) NOT NULL DEFAULT '',
  `local_graph_template_item_id` varchar(255) NOT NULL DEFAULT '',
  `local_graph_id` varchar(255) NOT NULL DEFAULT '',
  `graph_template_id` varchar(255) NOT NULL DEFAULT '',
  `task_item_id` varchar(255) NOT NULL DEFAULT '',
  `color_id` varchar(255) NOT NULL DEFAULT '',
  `alpha` varchar(255) NOT NULL DEFAULT '',
  `graph_type_id` varchar(255) NOT NULL DEFAULT '',
  `cdef_id` varchar(255) NOT NULL DEFAULT '',
  `vdef_id` varchar(255) NOT NULL DEFAULT '',
  `consolidation_function_id` varchar(255) NOT NULL DEFAULT '',
  `text_format` varchar(255) NOT NULL DEFAULT '',
  `value` varchar(255) NOT NULL DEFAULT '',
  `hard_return` varchar(255) NOT NULL DEFAULT '',
  `gprint_id` varchar(255) NOT NULL DEFAULT '',
  `sequence` varchar(255) NOT NULL DEFAULT '',
  KEY `first` (`id`)
) ENGINE=MyISAM DEFAULT CHARSET=latin1;
LOCK TABLES `graph_templates_item` WRITE;
INSERT INTO `graph_templates_item` VALUES (1,'x',0,0,2,1,89,'FF',7,3,0,1,'In','','',2,1),
(2,'x',0,0,2,1,0,'FF',9,3,0,3,'Max:','','on',2,2),
(3,'x',0,0,2,2,39,'FF',4,3,0,1,'Out','','',2,3),
(4,'x',0,0,2,0,0,'FF',9,0,0,1,'nothing','','',2,4),
(5,'x',0,0,2,1,39,'FF',5,12,0,1,'Total','','on',2,5),
(6,'x',0,0,2,1,0,'FF',9,3,7,1,'95th','','on',2,6),
(7,'x',0,0,2,0,0,'FF',1,0,0,1,'A comment','','',2,7),
(8,'x',0,0,2,0,0,'FF',40,0,0,1,'','','',2,8),
(20,'x',0,0,3,4,89,'FF',7,0,0,1,'1','','',2,1),
(21,'x',0,0,3,5,89,'FF',8,0,0,1,'5','','',2,2),
(31,'x',0,1,2,11,89,'FF',7,3,0,1,'In','','',2,1),
(32,'x',0,1,2,12,39,'FF',4,3,0,1,'Out','','',2,2),
(33,'x',0,2,2,13,89,'FF',7,3,0,1,'In','','',2,1),
(34,'x',0,2,2,14,39,'FF',4,3,0,1,'Out','','',2,2),
(35,'x',0,3,3,17,89,'FF',7,0,0,1,'1','','',2,1),
(36,'x',0,3,3,18,89,'FF',8,0,0,1,'5','','',2,2),
(37,'x',0,4,0,17,89,'FF',7,0,0,1,'1','','',2,1);
UNLOCK TABLES;

DROP TABLE IF EXISTS `graph_tree`;
CREATE TABLE `graph_tree` (
  `id` varchar(255) NOT NULL DEFAULT '',
  `sort_type` varchar(255) NOT NULL DEFAULT '',
  `name` varchar(255) NOT NULL DEFAULT '',
  KEY `first` (`id`)
) ENGINE=MyISAM DEFAULT CHARSET=latin1;
LOCK TABLES `graph_tree` WRITE;
INSERT INTO `graph_tree` VALUES (1,1,'Places');
UNLOCK TABLES;

DROP TABLE IF EXISTS `graph_tree_items`;
CREATE TABLE `graph_tree_items` (
  `id` varchar(255) NOT NULL DEFAULT '',
  `graph_tree_id` varchar(255) NOT NULL DEFAULT '',
  `local_graph_id` varchar(255) NOT NULL DEFAULT '',
  `rra_id` varchar(255) NOT NULL DEFAULT '',
  `title` varchar(255) NOT NULL DEFAULT '',
  `host_id` varchar(255) NOT NULL DEFAULT '',
  `order_key` varchar(255) NOT NULL DEFAULT '',
  `host_grouping_type` varchar(255) NOT NULL DEFAULT '',
  `sort_children_type` varchar(255) NOT NULL DEFAULT '',
  KEY `first` (`id`)
) ENGINE=MyISAM DEFAULT CHARSET=latin1;
LOCK TABLES `graph_tree_items` WRITE;
INSERT INTO `graph_tree_items` VALUES (1,1,0,0,'North',0,'001000000000',1,1),
(2,1,0,0,'',2,'002000000000',1,1),
(3,1,0,0,'',1,'001001000000',2,1),
(4,1,1,1,'',0,'001002000000',1,1),
(5,1,99,1,'',0,'003000000000',1,1);
UNLOCK TABLES;

DROP TABLE IF EXISTS `host`;
CREATE TABLE `host` (
  `id` varchar(255) NOT NULL DEFAULT '',
  `host_template_id` varchar(255) NOT NULL DEFAULT '',
  `description` varchar(255) NOT NULL DEFAULT '',
  `hostname` varchar(255) NOT NULL DEFAULT '',
  `notes` varchar(255) NOT NULL DEFAULT '',
  `snmp_community` varchar(255) NOT NULL DEFAULT '',
  `snmp_version` varchar(255) NOT NULL DEFAULT '',
  `snmp_username` varchar(255) NOT NULL DEFAULT '',
  `snmp_password` varchar(255) NOT NULL DEFAULT '',
  `snmp_auth_protocol` varchar(255) NOT NULL DEFAULT '',
  `snmp_priv_passphrase` varchar(255) NOT NULL DEFAULT '',
  `snmp_priv_protocol` varchar(255) NOT NULL DEFAULT '',
  `snmp_context` varchar(255) NOT NULL DEFAULT '',
  `snmp_port` varchar(255) NOT NULL DEFAULT '',
  `snmp_timeout` varchar(255) NOT NULL DEFAULT '',
  `availability_method` varchar(255) NOT NULL DEFAULT '',
  `ping_method` varchar(255) NOT NULL DEFAULT '',
  `ping_port` varchar(255) NOT NULL DEFAULT '',
  `ping_timeout` varchar(255) NOT NULL DEFAULT '',
  `ping_retries` varchar(255) NOT NULL DEFAULT '',
  `max_oids` varchar(255) NOT NULL DEFAULT '',
  `disabled` varchar(255) NOT NULL DEFAULT '',
  `status` varchar(255) NOT NULL DEFAULT '',
  KEY `first` (`id`)
) ENGINE=MyISAM DEFAULT CHARSET=latin1;
LOCK TABLES `host` WRITE;
INSERT INTO `host` VALUES (1,1,'edge-1','192.0.2.1','first; (one)','it\'s secret',2,'','','','','','',1161,500,2,2,23,400,1,10,'',3),
(2,1,'edge-2','udp:192.0.2.2','','it\'s secret',2,'','','','','','',161,500,1,1,23,400,1,10,'',3),
(3,0,'old-1','192.0.2.3','','',1,'','','','','','',161,500,2,2,23,400,1,10,'on',1),
(4,0,'edge-1','192.0.2.4','','',0,'','','','','','',161,500,3,3,80,400,1,10,'',3),
(5,0,'v3','router.example','','',3,'reader','password-1','SHA','password-2','AES256C','vrf',161,500,2,2,23,400,1,10,'',3);
UNLOCK TABLES;

DROP TABLE IF EXISTS `host_snmp_cache`;
CREATE TABLE `host_snmp_cache` (
  `host_id` varchar(255) NOT NULL DEFAULT '',
  `snmp_query_id` varchar(255) NOT NULL DEFAULT '',
  `field_name` varchar(255) NOT NULL DEFAULT '',
  `field_value` varchar(255) NOT NULL DEFAULT '',
  `snmp_index` varchar(255) NOT NULL DEFAULT '',
  `oid` varchar(255) NOT NULL DEFAULT '',
  `present` varchar(255) NOT NULL DEFAULT '',
  KEY `first` (`host_id`)
) ENGINE=MyISAM DEFAULT CHARSET=latin1;
LOCK TABLES `host_snmp_cache` WRITE;
INSERT INTO `host_snmp_cache` VALUES (1,1,'ifName','Gi0/1','1','',1),
(1,1,'ifAlias','','1','',1),
(1,1,'ifHighSpeed','1000','1','',1),
(1,1,'ifDescr','GigabitEthernet0/1','1','',1),
(1,1,'ifType','6','1','',1),
(1,1,'ifName','Gi0/2','2','',1),
(1,1,'ifAlias','to core','2','',1),
(1,1,'ifHighSpeed','1000','2','',1),
(1,1,'ifDescr','GigabitEthernet0/2','2','',1),
(1,1,'ifType','6','2','',1);
UNLOCK TABLES;

DROP TABLE IF EXISTS `host_template`;
CREATE TABLE `host_template` (
  `id` varchar(255) NOT NULL DEFAULT '',
  `hash` varchar(255) NOT NULL DEFAULT '',
  `name` varchar(255) NOT NULL DEFAULT '',
  KEY `first` (`id`)
) ENGINE=MyISAM DEFAULT CHARSET=latin1;
LOCK TABLES `host_template` WRITE;
INSERT INTO `host_template` VALUES (1,'x','Router');
UNLOCK TABLES;

DROP TABLE IF EXISTS `host_template_graph`;
CREATE TABLE `host_template_graph` (
  `host_template_id` varchar(255) NOT NULL DEFAULT '',
  `graph_template_id` varchar(255) NOT NULL DEFAULT '',
  KEY `first` (`host_template_id`)
) ENGINE=MyISAM DEFAULT CHARSET=latin1;
LOCK TABLES `host_template_graph` WRITE;
INSERT INTO `host_template_graph` VALUES (1,2);
UNLOCK TABLES;

DROP TABLE IF EXISTS `rra`;
CREATE TABLE `rra` (
  `id` varchar(255) NOT NULL DEFAULT '',
  `hash` varchar(255) NOT NULL DEFAULT '',
  `name` varchar(255) NOT NULL DEFAULT '',
  `x_files_factor` varchar(255) NOT NULL DEFAULT '',
  `steps` varchar(255) NOT NULL DEFAULT '',
  `rows` varchar(255) NOT NULL DEFAULT '',
  `timespan` varchar(255) NOT NULL DEFAULT '',
  KEY `first` (`id`)
) ENGINE=MyISAM DEFAULT CHARSET=latin1;
LOCK TABLES `rra` WRITE;
INSERT INTO `rra` VALUES (1,'x','Daily',0.5,1,600,86400),
(2,'x','Weekly',0.5,6,700,604800);
UNLOCK TABLES;

DROP TABLE IF EXISTS `rra_cf`;
CREATE TABLE `rra_cf` (
  `rra_id` varchar(255) NOT NULL DEFAULT '',
  `consolidation_function_id` varchar(255) NOT NULL DEFAULT '',
  KEY `first` (`rra_id`)
) ENGINE=MyISAM DEFAULT CHARSET=latin1;
LOCK TABLES `rra_cf` WRITE;
INSERT INTO `rra_cf` VALUES (1,1),
(1,3),
(2,1),
(2,3);
UNLOCK TABLES;

DROP TABLE IF EXISTS `snmp_query`;
CREATE TABLE `snmp_query` (
  `id` varchar(255) NOT NULL DEFAULT '',
  `hash` varchar(255) NOT NULL DEFAULT '',
  `xml_path` varchar(255) NOT NULL DEFAULT '',
  `name` varchar(255) NOT NULL DEFAULT '',
  `description` varchar(255) NOT NULL DEFAULT '',
  `graph_template_id` varchar(255) NOT NULL DEFAULT '',
  `data_input_id` varchar(255) NOT NULL DEFAULT '',
  KEY `first` (`id`)
) ENGINE=MyISAM DEFAULT CHARSET=latin1;
LOCK TABLES `snmp_query` WRITE;
INSERT INTO `snmp_query` VALUES (1,'x','<path_cacti>/resource/snmp_queries/interface.xml','SNMP - Interface Statistics','',0,2),
(2,'x','<path_cacti>/resource/snmp_queries/mystery.xml','Mystery','',0,2);
UNLOCK TABLES;

DROP TABLE IF EXISTS `snmp_query_graph`;
CREATE TABLE `snmp_query_graph` (
  `id` varchar(255) NOT NULL DEFAULT '',
  `hash` varchar(255) NOT NULL DEFAULT '',
  `snmp_query_id` varchar(255) NOT NULL DEFAULT '',
  `name` varchar(255) NOT NULL DEFAULT '',
  `graph_template_id` varchar(255) NOT NULL DEFAULT '',
  KEY `first` (`id`)
) ENGINE=MyISAM DEFAULT CHARSET=latin1;
LOCK TABLES `snmp_query_graph` WRITE;
INSERT INTO `snmp_query_graph` VALUES (1,'x',1,'In/Out Bits',2),
(2,'x',1,'In/Out Bits (64-bit)',2),
(3,'x',2,'Mystery',9);
UNLOCK TABLES;

DROP TABLE IF EXISTS `snmp_query_graph_rrd`;
CREATE TABLE `snmp_query_graph_rrd` (
  `snmp_query_graph_id` varchar(255) NOT NULL DEFAULT '',
  `data_template_id` varchar(255) NOT NULL DEFAULT '',
  `data_template_rrd_id` varchar(255) NOT NULL DEFAULT '',
  `snmp_field_name` varchar(255) NOT NULL DEFAULT '',
  KEY `first` (`snmp_query_graph_id`)
) ENGINE=MyISAM DEFAULT CHARSET=latin1;
LOCK TABLES `snmp_query_graph_rrd` WRITE;
INSERT INTO `snmp_query_graph_rrd` VALUES (1,1,1,'ifInOctets'),
(1,1,2,'ifOutOctets'),
(2,1,1,'ifHCInOctets'),
(2,1,2,'ifHCOutOctets'),
(3,4,7,'mystery');
UNLOCK TABLES;

DROP TABLE IF EXISTS `user_auth`;
CREATE TABLE `user_auth` (
  `id` varchar(255) NOT NULL DEFAULT '',
  `username` varchar(255) NOT NULL DEFAULT '',
  `password` varchar(255) NOT NULL DEFAULT '',
  KEY `first` (`id`)
) ENGINE=MyISAM DEFAULT CHARSET=latin1;
LOCK TABLES `user_auth` WRITE;
INSERT INTO `user_auth` VALUES (1,'admin','x'),
(3,'guest','y');
UNLOCK TABLES;

DROP TABLE IF EXISTS `vdef`;
CREATE TABLE `vdef` (
  `id` varchar(255) NOT NULL DEFAULT '',
  `hash` varchar(255) NOT NULL DEFAULT '',
  `name` varchar(255) NOT NULL DEFAULT '',
  KEY `first` (`id`)
) ENGINE=MyISAM DEFAULT CHARSET=latin1;
LOCK TABLES `vdef` WRITE;
INSERT INTO `vdef` VALUES (7,'x','95th');
UNLOCK TABLES;

DROP TABLE IF EXISTS `vdef_items`;
CREATE TABLE `vdef_items` (
  `id` varchar(255) NOT NULL DEFAULT '',
  `hash` varchar(255) NOT NULL DEFAULT '',
  `vdef_id` varchar(255) NOT NULL DEFAULT '',
  `sequence` varchar(255) NOT NULL DEFAULT '',
  `type` varchar(255) NOT NULL DEFAULT '',
  `value` varchar(255) NOT NULL DEFAULT '',
  KEY `first` (`id`)
) ENGINE=MyISAM DEFAULT CHARSET=latin1;
LOCK TABLES `vdef_items` WRITE;
INSERT INTO `vdef_items` VALUES (1,'x',7,1,4,'CURRENT_DATA_SOURCE'),
(2,'x',7,2,6,'95'),
(3,'x',7,3,1,'8');
UNLOCK TABLES;
