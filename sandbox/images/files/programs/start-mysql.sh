#!/bin/sh
# Starts MariaDB as the image of MySQL starts its server: root's password and a database come from the environment.
set -eu
data=/var/lib/mysql
mkdir -p /run/mysqld
chown mysql /run/mysqld "$data"
if [ ! -d "$data/mysql" ]; then
  mariadb-install-db --user=mysql --datadir="$data" --auth-root-authentication-method=normal --skip-test-db >/dev/null
fi
cat > /run/mysqld/first.sql <<SQL
ALTER USER 'root'@'localhost' IDENTIFIED BY '$MYSQL_ROOT_PASSWORD';
CREATE USER IF NOT EXISTS 'root'@'%' IDENTIFIED BY '$MYSQL_ROOT_PASSWORD';
GRANT ALL ON *.* TO 'root'@'%' WITH GRANT OPTION;
CREATE DATABASE IF NOT EXISTS ${MYSQL_DATABASE:-test};
SQL
exec mariadbd --user=mysql --datadir="$data" --bind-address=0.0.0.0 --init-file=/run/mysqld/first.sql "$@"
